"""Which requests a webhook or a policy is for: rules, selectors, equivalent resources, match conditions."""
