"""One room per backend; each maps states of memories to it. Adapters never import each other."""
