"""Where the files of a data set lie: a folder, a tar archive (fetched if need be), or arrays in memory."""
