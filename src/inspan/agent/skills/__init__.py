"""Skills: folders of instructions that the model reads when it needs them."""
