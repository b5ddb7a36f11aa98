"""The group coordinator (KIP-62's classic protocol): membership, generations, committed offsets."""
