package nvml

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// window is the time over which utilisation is averaged.
const window = 5 * time.Minute

// enough is the minimum observation time before an average is reported: at the start of a
// run the program loads data.
const enough = time.Minute

// busy averages the share of time with work on a GPU.
type busy struct {
	spans []span // oldest first
}

// span is the mean share over the time up to an end.
type span struct {
	end   time.Time
	took  time.Duration
	share float64 // 0 to 1
}

// add adds a share measured over the time up to now, and drops what is older than the
// window.
func (b *busy) add(now time.Time, took time.Duration, share float64) {
	if took <= 0 || math.IsNaN(share) || share < 0 || share > 1 {
		return
	}
	b.spans = append(b.spans, span{now, min(took, window), share})
	old := 0
	for old < len(b.spans) && now.Sub(b.spans[old].end) >= window {
		old++
	}
	b.spans = b.spans[old:]
}

// mean returns the average over the window; -1 while the observation time is too short.
func (b *busy) mean() float64 {
	var sum float64
	var total time.Duration
	for _, s := range b.spans {
		sum += s.share * s.took.Seconds()
		total += s.took
	}
	if total < enough {
		return -1
	}
	return min(sum/total.Seconds(), 1) // rounding may make the sum exceed 1
}

// utilisation returns the share of time with work on the device since the given time
// stamp of the driver, from the driver's samples if it keeps them, else the present
// value; ok is false if the driver reports none. next is the time stamp for the next
// call.
func utilisation(d nvml.Device, since uint64) (share float64, next uint64, ok bool) {
	kind, samples, ret := d.GetSamples(nvml.GPU_UTILIZATION_SAMPLES, since)
	if ret == nvml.SUCCESS {
		if share, next, ok = meanOf(kind, samples, since); ok {
			return share, next, true
		}
	}
	now, ret := d.GetUtilizationRates()
	if ret != nvml.SUCCESS || now.Gpu > 100 {
		return 0, since, false
	}
	return float64(now.Gpu) / 100, since, true
}

// meanOf averages samples in per cent that are newer than since. The driver leaves the
// rest of the buffer empty when it has fewer than it announced, and some drivers return
// invalid samples: both are skipped.
func meanOf(kind nvml.ValueType, samples []nvml.Sample, since uint64) (share float64, newest uint64, ok bool) {
	newest, count := since, 0
	for _, s := range samples {
		v, known := value(kind, s.SampleValue)
		if s.TimeStamp <= since || !known || v < 0 || v > 100 {
			continue
		}
		newest = max(newest, s.TimeStamp)
		share += v / 100
		count++
	}
	if count == 0 {
		return 0, since, false
	}
	return share / float64(count), newest, true
}

// value reads the union that holds a sample.
func value(kind nvml.ValueType, raw [8]byte) (float64, bool) {
	switch kind {
	case nvml.VALUE_TYPE_DOUBLE:
		v := math.Float64frombits(binary.NativeEndian.Uint64(raw[:]))
		return v, !math.IsNaN(v)
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return float64(binary.NativeEndian.Uint32(raw[:])), true
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return float64(binary.NativeEndian.Uint64(raw[:])), true
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int64(binary.NativeEndian.Uint64(raw[:]))), true
	case nvml.VALUE_TYPE_SIGNED_INT:
		return float64(int32(binary.NativeEndian.Uint32(raw[:]))), true
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return float64(binary.NativeEndian.Uint16(raw[:])), true
	}
	return 0, false
}
