"""What the controllers share: Pods as they see them, creating, deleting and adopting them."""
