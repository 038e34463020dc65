"""What the small feature files of tests say of themselves."""

META = {"dataset": "toy", "split": "train", "backbone": "toy-net", "timm_id": "toy"}
META |= {"weights_sha256": "0" * 64, "preprocessing": {"size": 224}}
