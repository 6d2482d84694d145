package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Library is what is used of NVIDIA's library; nvml.New and the mock servers of
// go-nvml have it.
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

// newer are the calls that drivers of the last ten years do not all have. Calling
// one that is missing ends the process, so each is looked up first.
const (
	remappedRows = "nvmlDeviceGetRemappedRows"
	migMode      = "nvmlDeviceGetMigMode"
	migCount     = "nvmlDeviceGetMaxMigDeviceCount"
	migHandle    = "nvmlDeviceGetMigDeviceHandleByIndex"
	fieldValues  = "nvmlDeviceGetFieldValues"
)

// symbols remembers which calls the driver has.
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
