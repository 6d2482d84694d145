// Package workload describes jobs to simulate: generators of published and
// synthetic experiments, readers of recorded ones and of a site's own history,
// and the true speeds of the jobs in them.
package workload
