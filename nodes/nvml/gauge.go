package nvml

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/sluice-hpc/sluice/nodes"
)

// ErrNothing: there is no driver, no library, or no GPU of the job's here.
var ErrNothing = errors.New("no NVIDIA GPU to look at")

// Gauge reads the GPUs of one job on this machine. A call into a driver that hangs does
// not return, so the caller MUST be able to go on without it. Its methods are for one
// goroutine.
type Gauge struct {
	lib     Library
	devices []*device
	events  nvml.EventSet // nil if the driver offers none
}

// device is one of the job's GPUs, or the slices of one.
type device struct {
	handle nvml.Device
	index  int
	uuid   string
	name   string
	slices []slicer // the job's, when the GPU is cut into slices
	has    *symbols

	busy  busy
	since uint64    // the driver's time stamp of the last utilisation sample
	last  time.Time // time of the last look
	lost  bool
	xids  []int
}

// slicer is one MIG slice.
type slicer struct {
	handle     nvml.Device
	uuid, name string
}

const (
	maxDevices = 64 // GPUs of a machine that are read
	maxSlices  = 16 // of one GPU
	maxXIDs    = 16 // kept per GPU
	maxEvents  = 64 // taken at one look
)

// Open loads the library and finds the job's GPUs among those it shows; env is the job's
// environment. ErrNothing, wrapped, means that there is nothing to read.
func Open(lib Library, env map[string]string) (*Gauge, error) {
	want := chosen(env)
	if want.none() {
		return nil, fmt.Errorf("%w: the environment names no GPU", ErrNothing)
	}
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return nil, fmt.Errorf("%w: %v", ErrNothing, ret)
	}
	g := &Gauge{lib: lib}
	g.find(want, &symbols{lib: lib.Extensions(), known: map[string]bool{}})
	if len(g.devices) == 0 {
		g.Close()
		return nil, fmt.Errorf("%w: none of those the environment names is shown", ErrNothing)
	}
	g.listen()
	return g, nil
}

// Close ends the event set and unloads the library.
func (g *Gauge) Close() {
	if g.events != nil {
		g.events.Free()
		g.events = nil
	}
	g.lib.Shutdown()
}

// find collects the devices that the choice includes. A device that no longer answers is
// among those shown, without a name.
func (g *Gauge) find(want choice, has *symbols) {
	count, ret := g.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return
	}
	var shown []*device
	for i := range min(count, maxDevices) {
		handle, ret := g.lib.DeviceGetHandleByIndex(i)
		d := &device{handle: handle, index: i, has: has}
		switch ret {
		case nvml.SUCCESS:
			d.identify()
		case nvml.ERROR_GPU_IS_LOST:
			d.handle, d.lost = nil, true
		default: // not one of the job's
			continue
		}
		shown = append(shown, d)
	}
	for _, d := range shown {
		whole := want.picks(d.index, d.uuid, len(shown))
		d.cut(func(uuid string) bool { return whole || want.mentions(uuid) })
		if whole || len(d.slices) > 0 {
			g.devices = append(g.devices, d)
		}
	}
}

// identify reads what never changes.
func (d *device) identify() {
	d.uuid = uuid(d.handle)
	if name, ret := d.handle.GetName(); ret == nvml.SUCCESS {
		d.name = name
	}
}

// cut finds the slices of a GPU that are the job's.
func (d *device) cut(ours func(uuid string) bool) {
	if d.handle == nil || !d.has.has(migMode) || !d.has.has(migCount) || !d.has.has(migHandle) {
		return
	}
	if mode, _, ret := d.handle.GetMigMode(); ret != nvml.SUCCESS || mode != nvml.DEVICE_MIG_ENABLE {
		return
	}
	count, ret := d.handle.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return
	}
	for i := range min(count, maxSlices) {
		handle, ret := d.handle.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS { // indices without a slice are not found
			continue
		}
		s := slicer{handle: handle, uuid: uuid(handle), name: d.name}
		if name, ret := handle.GetName(); ret == nvml.SUCCESS && name != "" {
			s.name = name
		}
		if ours(s.uuid) {
			d.slices = append(d.slices, s)
		}
	}
}

// listen subscribes to critical errors. If that is not possible only the error counters
// are used.
func (g *Gauge) listen() {
	events, ret := g.lib.EventSetCreate()
	if ret != nvml.SUCCESS || events == nil {
		return
	}
	const critical = nvml.EventTypeXidCriticalError
	registered := 0
	for _, d := range g.devices {
		if d.handle == nil {
			continue
		}
		types, ret := d.handle.GetSupportedEventTypes()
		if ret == nvml.SUCCESS && types&critical != 0 && d.handle.RegisterEvents(critical, events) == nvml.SUCCESS {
			registered++
		}
	}
	if registered == 0 {
		events.Free()
		return
	}
	g.events = events
}

// Look reads how busy the GPUs are and which errors occurred. Called every few seconds it
// misses nothing: drivers keep samples of about 10 s. It reports whether a critical error
// occurred.
func (g *Gauge) Look(now time.Time) (struck bool) {
	for _, d := range g.devices {
		d.look(now)
	}
	return g.events != nil && g.Await(0)
}

// Await waits up to the given time for a critical error and reports whether one occurred.
// A program that is hit by one often ends within moments, and its job with it.
func (g *Gauge) Await(span time.Duration) (struck bool) {
	if g.events == nil {
		time.Sleep(span)
		return false
	}
	for range maxEvents {
		asked := uint32(min(max(span, 0), time.Minute) / time.Millisecond)
		event, ret := g.events.Wait(asked)
		if ret != nvml.SUCCESS {
			if asked > 0 && ret != nvml.ERROR_TIMEOUT { // a GPU was lost: the call returned early
				time.Sleep(span)
			}
			return struck
		}
		span = 0 // further events
		if event.EventType == nvml.EventTypeXidCriticalError && g.struck(event) {
			struck = true
		}
	}
	return struck
}

// struck records a critical error for its device.
func (g *Gauge) struck(event nvml.EventData) bool {
	for _, d := range g.devices {
		if d.is(event.Device) {
			return d.note(int(min(event.EventData, 1<<20)))
		}
	}
	return false
}

// note stores a critical error and reports whether it is new.
func (d *device) note(code int) bool {
	if slices.Contains(d.xids, code) || len(d.xids) >= maxXIDs {
		return false
	}
	d.xids = append(d.xids, code)
	return true
}

// Recall adopts the critical errors that an earlier Gauge of the same run read. The
// driver reports each once: without this a later Gauge would report the GPU as fit.
func (g *Gauge) Recall(read []nodes.Device) {
	for _, r := range read {
		for _, d := range g.devices {
			if d.index != r.Index || !r.MIG && r.UUID != "" && d.uuid != "" && r.UUID != d.uuid {
				continue
			}
			for _, code := range r.XIDs {
				d.note(code)
			}
		}
	}
}

// is reports whether another handle refers to this device.
func (d *device) is(other nvml.Device) bool {
	if d.handle == nil || other == nil {
		return false
	}
	if d.handle == other {
		return true
	}
	return d.uuid != "" && uuid(other) == d.uuid
}

// look adds the device's utilisation since the last look. Slices have none.
func (d *device) look(now time.Time) {
	took := now.Sub(d.last)
	first := d.last.IsZero()
	d.last = now
	if d.handle == nil || len(d.slices) > 0 {
		return
	}
	share, next, ok := utilisation(d.handle, d.since)
	d.since = next
	if ok && !first { // the first sample covers the time before
		d.busy.add(now, took, share)
	}
}

// Read returns the present state of the GPUs, or slices.
func (g *Gauge) Read() []nodes.Device {
	var out []nodes.Device
	for _, d := range g.devices {
		out = append(out, d.read()...)
	}
	return out
}
