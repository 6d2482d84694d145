package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// ReadPhilly reads the job log of the Philly traces (Jeon et al., USENIX ATC 2019;
// msr-fiddle/philly-traces, cluster_job_log) and makes the workload that it is
// under the assumption. It is ReadPhillyHistory and History.Workload in one.
func ReadPhilly(path string, a Assumption) (Workload, History, error) {
	h, err := ReadPhillyHistory(path, nil)
	if err != nil {
		return Workload{}, h, err
	}
	w, err := h.Workload(a)
	return w, h, err
}

// ReadPhillyHistory reads the job log as a history, of the virtual clusters named
// or of all. A job with several attempts is one run from the first start to the
// last end, that took what its attempts took in GPU-time, on the GPUs of the
// longest. Jobs without GPUs, a start or an end are skipped, and counted.
func ReadPhillyHistory(path string, clusters []string) (History, error) {
	data, err := readAll(path)
	if err != nil {
		return History{}, fmt.Errorf("workload: %w", err)
	}
	h, err := decodePhilly(data, path, clusters)
	if err != nil {
		return h, fmt.Errorf("workload: %w", err)
	}
	return h, nil
}

type phillyJob struct {
	Status    string          `json:"status"`
	Cluster   string          `json:"vc"`
	ID        string          `json:"jobid"`
	User      string          `json:"user"`
	Submitted phillyTime      `json:"submitted_time"`
	Attempts  []phillyAttempt `json:"attempts"`
}

type phillyAttempt struct {
	Start  phillyTime    `json:"start_time"`
	End    phillyTime    `json:"end_time"`
	Detail []phillyShare `json:"detail"`
}

type phillyShare struct {
	GPUs []string `json:"gpus"`
}

// gpus returns the attempt's size and how many nodes it is on.
func (a phillyAttempt) gpus() (gpus, nodes int) {
	for _, share := range a.Detail {
		if len(share.GPUs) > 0 {
			gpus += len(share.GPUs)
			nodes++
		}
	}
	return gpus, nodes
}

// phillyTime is a time without a zone; zero when it was not recorded.
type phillyTime struct{ time.Time }

// UnmarshalJSON reads "2017-10-07 01:11:39", null, "" and "None".
func (t *phillyTime) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if text == nil || *text == "" || *text == "None" {
		return nil
	}
	at, err := time.Parse(time.DateTime, *text)
	if err != nil || at.Year() < 1970 || at.Year() > 2200 {
		return fmt.Errorf("time %q: want one such as 2017-10-07 01:11:39", cut(*text))
	}
	t.Time = at
	return nil
}

// decodePhilly reads a log; name is what errors call it. They name where the job
// begins that is wrong.
func decodePhilly(data []byte, name string, clusters []string) (History, error) {
	d := phillyReader{clusters: clusters, tally: sacctReader{skipped: map[string]int{}, runs: map[record]dated{}, open: map[record]dated{}}}
	if at, err := d.log(json.NewDecoder(bytes.NewReader(data))); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the file ends before the list of jobs does; is it whole?")
		}
		return History{}, fmt.Errorf("%s: %w", whereIn(data, name, at), err)
	}
	if len(d.tally.runs) == 0 {
		return History{}, fmt.Errorf("%s: no finished job on GPUs among %d", name, d.jobs)
	}
	return d.tally.history(name), nil
}

// log reads the list of jobs; on an error it returns the offset of its job.
func (d *phillyReader) log(dec *json.Decoder) (at int64, err error) {
	first, err := dec.Token()
	if err != nil {
		return 0, err
	}
	if first != json.Delim('[') {
		return 0, errors.New("want a list of jobs, as in cluster_job_log")
	}
	for dec.More() {
		var job phillyJob
		at = dec.InputOffset()
		if err := dec.Decode(&job); err != nil {
			return at, err
		}
		if err := d.job(job); err != nil {
			return at, err
		}
	}
	at = dec.InputOffset()
	_, err = dec.Token()
	return at, err
}

// whereIn is file, line and column of what follows the offset.
func whereIn(data []byte, name string, at int64) string {
	for at < int64(len(data)) && bytes.IndexByte([]byte(" \t\r\n,"), data[at]) >= 0 {
		at++
	}
	before := data[:at]
	return fmt.Sprintf("%s:%d:%d", name, bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
}
