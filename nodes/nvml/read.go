package nvml

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/sluice-hpc/sluice/nodes"
)

// read returns the device, or the job's slices of it, which share its health.
func (d *device) read() []nodes.Device {
	whole := nodes.Device{Index: d.index, UUID: d.uuid, Name: d.name, Utilisation: -1, XIDs: slices.Clone(d.xids)}
	state := State{Lost: d.lost, XIDs: d.xids}
	if d.handle != nil {
		state = d.state()
		whole.Utilisation = d.busy.mean()
		whole.MemoryUsed, whole.Memory = memory(d.handle)
		whole.Watts = watts(d.handle)
	}
	whole.Uncorrected, whole.Unfit = state.Uncorrected, Unfit(state)
	if len(d.slices) == 0 {
		return []nodes.Device{whole}
	}
	out := make([]nodes.Device, len(d.slices))
	for i, s := range d.slices {
		out[i] = whole
		out[i].MIG, out[i].UUID, out[i].Name = true, s.uuid, s.name
		out[i].Utilisation, out[i].Watts = -1, 0 // neither is measured by slice
		out[i].MemoryUsed, out[i].Memory = memory(s.handle)
	}
	return out
}

// checkpoint.ParseDevices refuses the whole note of a node for one impossible number. So
// an invalid number from the driver is replaced by unknown.
const (
	mostMemory = 1 << 50 // bytes
	mostWatts  = 1e5
)

// memory returns the bytes used and in total, 0 if they are unknown. If more is used than
// the total, both are unknown.
func memory(d nvml.Device) (used, total int64) {
	m, ret := d.GetMemoryInfo()
	if ret != nvml.SUCCESS || m.Total > mostMemory || m.Used > m.Total {
		return 0, 0
	}
	return int64(m.Used), int64(m.Total)
}

// watts returns the device's power draw in watts, 0 if unknown.
func watts(d nvml.Device) float64 {
	milliwatts, ret := d.GetPowerUsage()
	if w := float64(milliwatts) / 1000; ret == nvml.SUCCESS && w <= mostWatts {
		return w
	}
	return 0
}

// uuid returns the UUID of a GPU or a slice; "" if it has none that can be printed.
func uuid(d nvml.Device) string {
	id, ret := d.GetUUID()
	if ret != nvml.SUCCESS || len(id) > 128 || !strings.HasPrefix(id, "GPU-") && !strings.HasPrefix(id, "MIG-") {
		return ""
	}
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-/._", r)
	}
	if strings.ContainsFunc(id, func(r rune) bool { return !plain(r) }) {
		return ""
	}
	return id
}

// state reads all indicators of the device's health. An indicator that a driver does not
// support, or does not show to ordinary users, counts as healthy.
func (d *device) state() State {
	s := State{XIDs: d.xids}
	note := func(ret nvml.Return) bool {
		switch ret {
		case nvml.ERROR_GPU_IS_LOST:
			d.lost = true
		case nvml.ERROR_RESET_REQUIRED:
			s.Wants = "a reset"
		}
		return ret == nvml.SUCCESS
	}
	_, ret := d.handle.GetMemoryInfo()
	note(ret)
	if n, ret := d.handle.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); note(ret) && n < math.MaxUint32 {
		s.Uncorrected = n
	}
	if d.has.has(remappedRows) {
		if _, _, _, failed, ret := d.handle.GetRemappedRows(); note(ret) {
			s.RemapFailed = failed
		}
	}
	if s.Wants == "" && d.has.has(fieldValues) {
		s.Wants = recovery(d.handle)
	}
	s.Lost = d.lost // it does not come back by itself
	return s
}

// recovery returns what the driver asks for before new work starts on the device; "" when
// nothing, or when it does not report it.
func recovery(d nvml.Device) string {
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if d.GetFieldValues(values) != nvml.SUCCESS || nvml.Return(values[0].NvmlReturn) != nvml.SUCCESS {
		return ""
	}
	switch nvml.DeviceGpuRecoveryAction(binary.NativeEndian.Uint32(values[0].Value[:])) {
	case nvml.GPU_RECOVERY_ACTION_GPU_RESET, nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET:
		return "a reset"
	case nvml.GPU_RECOVERY_ACTION_NODE_REBOOT:
		return "a restart of the machine"
	}
	return ""
}
