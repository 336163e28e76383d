"""Python classes to OpenAPI schemas (`openapi`) and CustomResourceDefinitions (`crd`)."""
