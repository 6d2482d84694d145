// Package length corrects the lengths that users declare for their jobs: what is left of
// a job that trains on past its declared end, and by how much the jobs of a user
// exceed what was declared. It rests on GPU-seconds by the daemon's clock, which no job
// can change, and knows nothing of jobs but these. Time is a parameter.
package length
