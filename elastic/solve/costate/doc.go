// Package costate values work: what one more unit of a job's progress saves all
// jobs together. It knows nothing of jobs but how fast each gets on with how many
// GPUs.
//
// Without further arrivals, the mean completion time of jobs that share GPUs is an
// optimal control problem: job j has the fraction x_j of its work left, gets on at
// rate_j(n_j), and every unfinished job costs 1 a second. By Pontryagin's principle
// the co-state m_j of x_j stays constant until j ends, the GPUs at each moment
// maximise the sum of m_j*rate_j(n_j), and, the end being free, this sum equals
// what is paid at the moment: the number of unfinished jobs. Given the order in
// which jobs end, this determines every m_j from the last job to the first: with k
// jobs unfinished,
//
//	max { sum of m_i*rate_i(n_i) : sum of n_i <= capacity } = k
//
// has one unknown, the co-state of the job that ends first among them. For rates
// n^p it is the closed form of heSRPT (Berg, Vesilo, Harchol-Balter, Performance
// Evaluation 2020). Rates are taken as their upper concave hulls: a job may share
// its time between two sizes.
package costate
