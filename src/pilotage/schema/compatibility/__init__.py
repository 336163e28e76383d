"""Which changes of a CustomResourceDefinition break stored objects or clients."""
