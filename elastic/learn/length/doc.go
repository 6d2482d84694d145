// Package length corrects the lengths that users declare for their jobs: how much work is left
// of a job that trains on past its declared end, and by how much a user's jobs exceed what was
// declared. It uses GPU-seconds by the daemon's clock, which no job can change. Time is a
// parameter.
package length
