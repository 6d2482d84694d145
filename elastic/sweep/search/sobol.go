package search

import "github.com/sluice-hpc/sluice/elastic/sweep/space"

func (p Problem) sobol(groups []group) (space.Point, error) { return p.fresh(groups) }
