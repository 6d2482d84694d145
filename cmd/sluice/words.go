package main

import "github.com/sluice-hpc/sluice/cmd/present"

// The short texts of cmd/present, by the names that the verbs use.
var (
	span      = present.Span
	when      = present.When
	ago       = present.Ago
	figure    = present.Figure
	amount    = present.Amount
	unit      = present.Unit
	pace      = present.Pace
	sizes     = present.Sizes
	arrayLine = present.ArrayLine
)
