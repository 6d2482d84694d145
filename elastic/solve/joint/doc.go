// Package joint chooses sizes and places together: for each job one of the places
// it could have, so that the sum of their values is greatest and no node is asked
// for more than it has. It knows nothing of time, speeds or policies: a job is a
// list of options with values.
//
// Build places given sizes, in an order; Improve takes a few jobs off the cluster
// at a time and puts them back at other sizes, keeping what is better. Both are
// deterministic: randomness comes from a seed. A Change is such a step by itself, for
// other searches; Exact looks at all plans, where these are few.
package joint
