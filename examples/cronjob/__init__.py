"""The CronJob tutorial of kubebuilder: a kind that runs Jobs by a schedule.

`kinds` has the types in two versions, `schedule` reads cron expressions, `webhook` fills in and checks CronJobs,
`reconciler` runs the Jobs, `__main__` is the program.
"""
