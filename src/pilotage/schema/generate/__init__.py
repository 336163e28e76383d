"""Python classes to structural OpenAPI schemas (`openapi`) and CustomResourceDefinitions (`crd`)."""
