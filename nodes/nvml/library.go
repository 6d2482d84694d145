package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Library is the part of NVIDIA's library that is used; nvml.New and the mock servers of
// go-nvml implement it.
type Library interface {
	Init() nvml.Return
	Shutdown() nvml.Return
	DeviceGetCount() (int, nvml.Return)
	DeviceGetHandleByIndex(index int) (nvml.Device, nvml.Return)
	EventSetCreate() (nvml.EventSet, nvml.Return)
	Extensions() nvml.ExtendedInterface
}

// System returns this machine's library. Nothing is loaded before Open.
func System() Library { return nvml.New() }

// newer are the calls that not all drivers of the last ten years have. Calling a missing
// one ends the process, so each is looked up first.
const (
	remappedRows = "nvmlDeviceGetRemappedRows"
	migMode      = "nvmlDeviceGetMigMode"
	migCount     = "nvmlDeviceGetMaxMigDeviceCount"
	migHandle    = "nvmlDeviceGetMigDeviceHandleByIndex"
	fieldValues  = "nvmlDeviceGetFieldValues"
)

// symbols records which calls the driver has.
type symbols struct {
	lib   nvml.ExtendedInterface
	known map[string]bool
}

func (s *symbols) has(name string) bool {
	have, asked := s.known[name]
	if !asked {
		have = s.lib.LookupSymbol(name) == nil
		s.known[name] = have
	}
	return have
}
