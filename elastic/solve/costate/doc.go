// Package costate values work: how much time of all jobs together one more unit of a job's
// progress saves (its shadow price). All it needs of a job is its speed by number of GPUs.
//
// Without further arrivals, minimizing the mean completion time of jobs that share GPUs is an
// optimal control problem: job j has the fraction x_j of its work left, progresses at
// rate_j(n_j), and every unfinished job costs 1 per second. By Pontryagin's principle the
// co-state m_j of x_j is constant until j ends, and the GPUs at each moment maximise the sum of
// m_j*rate_j(n_j). Since the end is free, this sum equals the cost at that moment: the number
// of unfinished jobs. Given the order in which jobs end, this determines every m_j from the
// last job to the first: with k jobs unfinished,
//
//	max { sum of m_i*rate_i(n_i) : sum of n_i <= capacity } = k
//
// has one unknown, the co-state of the job that ends first among them. For rates n^p it is the
// closed form of heSRPT (Berg, Vesilo, Harchol-Balter, Performance Evaluation 2020). Rates are
// replaced by their upper concave hulls: a job may divide its time between two sizes.
package costate
