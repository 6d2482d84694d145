package sbatch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// --profile is two options. With one of these values it is sbatch's, which records
// energy, network and file system use; without a value, or with sizes, it is sluice's,
// which measures how fast the job is at these sizes.
var sbatchProfiles = []string{"all", "none", "energy", "task", "lustre", "network", "filesystem"}

// profiling is the internal name of sluice's --profile. It cannot be typed: settings are
// identified by name, and a job may have both.
var profiling = option{name: "profile sizes", takes: optional, is: own}

// profile reads --profile and replaces it.
func (r *reader) profile(w word, value string, given bool) {
	s := setting{option: profiling, value: value, given: true, at: w.at, words: []string{w.text}}
	if !given && r.next < len(r.words) {
		if next := r.words[r.next].text; isSizes(next) || gathers(next) {
			s.value, given = next, true
			s.words = append(s.words, next)
			r.next++
		}
	}
	if given && !isSizes(s.value) {
		s.option = *byName("profile")
	}
	r.found = append(r.found, s)
}

// isSizes reports whether the value means sluice's --profile.
func isSizes(value string) bool {
	switch strings.ToLower(value) {
	case "pow2", "yes", "no":
		return true
	}
	return value != "" && value[0] >= '0' && value[0] <= '9'
}

// gathers reports whether the value is one of sbatch's.
func gathers(value string) bool {
	for _, kind := range strings.Split(strings.ToLower(value), ",") {
		if !slices.Contains(sbatchProfiles, kind) {
			return false
		}
	}
	return true
}

// settleProfile fills in the sizes at which the speed is measured. It MUST run AFTER the
// accepted sizes are known.
func (m *merger) settleProfile() {
	s, ok := m.chosen[profiling.name]
	if !ok || strings.EqualFold(s.value, "no") {
		return
	}
	spec := &m.request.Spec
	switch strings.ToLower(s.value) {
	case "", "yes", "pow2":
		if spec.Profile = ProfileSizes(*spec); len(spec.Profile) < 2 {
			spec.Profile = nil
			m.warn(s.typed() + ": the job has one size only, so there is nothing to compare")
		}
		return
	}
	sizes, err := ParseProfileSizes(s.value)
	if err != nil {
		m.fail(s.fail(err.Error(), ""))
		return
	}
	for _, n := range sizes {
		if !spec.Allows(n, maxCount) {
			m.fail(s.fail(fmt.Sprintf("the job does not accept %d GPUs", n), "leave that size out, or change --min-gpus, --max-gpus and their like"))
			return
		}
	}
	spec.Profile = sizes
}

// ParseProfileSizes reads the sizes at which to measure a job's speed, such as 1,2,4: at
// most elastic.MaxProfile sizes, each from 1 to a million GPUs. The result is ascending.
func ParseProfileSizes(value string) ([]int, error) {
	sizes, pow2, err := parseSizes(value)
	switch {
	case err != nil || pow2:
		return nil, fmt.Errorf("want sizes such as 1,2,4, each a whole number from 1 to %d", maxCount)
	case len(sizes) > elastic.MaxProfile:
		return nil, fmt.Errorf("%d sizes, at most %d; leave some out: a curve is drawn through the others", len(sizes), elastic.MaxProfile)
	}
	return sizes, nil
}

// mostProfiled is how many sizes --profile chooses by itself: the smallest and the
// largest determine most of the curve, and two between them its form.
const mostProfiled = 4

// ProfileSizes chooses the sizes at which to measure a job's speed: from its minimum on,
// each at least twice the one before, to its maximum or, if it has none, to the fourth.
// Sizes that the cluster does not have are skipped when they would be measured.
func ProfileSizes(spec elastic.Spec) []int {
	var all []int
	most := spec.Max
	if most == 0 {
		most = max(1, spec.Min) << (mostProfiled - 1)
		if len(spec.Sizes) > 0 {
			most = spec.Sizes[len(spec.Sizes)-1]
		}
	}
	for n := accepted(spec, 1); n > 0 && n <= most; n = accepted(spec, 2*n) {
		all = append(all, n)
	}
	if len(all) <= mostProfiled {
		return all
	}
	var few []int
	for i := range mostProfiled {
		few = append(few, all[i*(len(all)-1)/(mostProfiled-1)])
	}
	return few
}

// accepted is the smallest size from n on that the job accepts; 0 if there is none.
func accepted(spec elastic.Spec, n int) int {
	n = max(n, spec.Min)
	switch {
	case len(spec.Sizes) > 0:
		i, _ := slices.BinarySearch(spec.Sizes, n)
		if i == len(spec.Sizes) {
			return 0
		}
		n = spec.Sizes[i]
	case spec.Step > 1:
		n = spec.Min + (n-spec.Min+spec.Step-1)/spec.Step*spec.Step
	}
	if !spec.Allows(n, maxCount) {
		return 0
	}
	return n
}

// Fixed is the request for a job of one size that only measures how fast the script is at
// it: it has no length, deadline, retries or hold, is not waited for, and its checkpoints
// are not adopted. Among the options for sbatch the user's take precedence over before,
// and after takes precedence over the user's.
func (r Request) Fixed(gpus int, before, after []string) Request {
	r.Spec.Min, r.Spec.Max, r.Spec.Step, r.Spec.Sizes = gpus, gpus, 0, nil
	r.Spec.Total, r.Spec.Profile, r.Spec.Habit = 0, nil, false
	r.Spec.Deadline, r.Spec.Soft = time.Time{}, false
	r.Adopt.Glob, r.Adopt.Marker = "", ""
	r.Retries, r.Every, r.OnTimeout = "0", "off", "end"
	r.Hold, r.Wait, r.Quiet = false, false, true
	r.options = slices.Concat(before, r.options, after)
	r.name = true // named by before
	return r
}
