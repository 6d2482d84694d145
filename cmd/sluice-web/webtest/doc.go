// Package webtest is a sluiced without a cluster, for tests of the pages: any number of jobs and
// nodes, with a past and a forecast, the same each time.
package webtest
