// Package deadline divides GPUs among jobs of which some must end by a given time.
//
// A job with a deadline is promised it when the smallest share that still meets it
// fits into what earlier promises leave of the future (Gu et al., ElasticFlow,
// ASPLOS 2023: the minimum satisfactory share). What nobody was promised goes, for the time being, where a
// GPU-second saves most. All times are seconds from now.
package deadline
