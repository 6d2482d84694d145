package contract

import (
	"reflect"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// testFixtures checks that the records of this suite have every field set. So a field that is
// added to the vocabulary and dropped by a journal makes a test fail.
func testFixtures(t *testing.T, _ Subject) {
	in := Intent(1)
	in.ID = 1
	job := Job("a", 1)
	job.Ended = day
	for _, v := range []any{in, job, segment("a", 1), complaint("gpu1", "0", 7), journal.NormalSample(sample(1, day))} {
		for _, path := range unset(reflect.ValueOf(v), reflect.TypeOf(v).Name()) {
			t.Errorf("%s is not set in the fixture: set it, and store it", path)
		}
	}
}

// unset lists the fields that have their zero value. Step of a Spec excludes Sizes and is the
// only field that may be unset.
func unset(v reflect.Value, path string) []string {
	if path == "JobRecord.Tag.Spec.Step" {
		return nil
	}
	if v.Kind() == reflect.Struct && v.Type().PkgPath() != "time" {
		var out []string
		for i := range v.NumField() {
			out = append(out, unset(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
		return out
	}
	if v.IsZero() {
		return []string{path}
	}
	return nil
}
