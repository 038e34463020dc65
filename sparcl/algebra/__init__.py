"""The only callers of BLAS and LAPACK: sums, factors, spectra, the partition, the recursive path."""
