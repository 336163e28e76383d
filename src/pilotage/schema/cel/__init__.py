"""CEL rules of a schema (`x-kubernetes-validations`): compiled, bounded in cost, and evaluated."""
