"""What estimators predict: one object for each kind of target, which an estimator's fit asks whatever depends on that kind."""
