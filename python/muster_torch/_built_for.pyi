TORCH: str
ABIS: list[str]
