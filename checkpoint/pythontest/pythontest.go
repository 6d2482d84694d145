// Package pythontest finds the training frameworks for a test: the Python that has
// PyTorch, Lightning, Transformers and Accelerate in the versions pinned in
// etc/frameworks.txt.
package pythontest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// PlaceEnv is the variable with the path of the frameworks' environment (the folder with
// bin/python), if it is not where etc/install-frameworks puts it.
const PlaceEnv = "SLUICE_FRAMEWORKS"

// RequireEnv is the variable that, set to 1, turns a skip for missing frameworks
// into a failure, so that a complete test run cannot pass by skipping.
const RequireEnv = "SLUICE_REQUIRE_FRAMEWORKS"

// shared is where root installs the frameworks for all users.
const shared = "/var/cache/sluice/frameworks"

// Frameworks returns the path of the frameworks' Python. Without it, and in short mode,
// the test is skipped with the reason: importing them takes seconds. See RequireEnv.
func Frameworks(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT TESTED in short mode: the training frameworks")
	}
	python, err := Find(os.Getenv)
	if err != nil {
		if os.Getenv(RequireEnv) == "1" {
			t.Fatalf("%s=1 and %v", RequireEnv, err)
		}
		t.Skipf("NOT TESTED with the training frameworks: %v", err)
	}
	return python
}

// Find returns the path of the frameworks' Python: in the folder named by PlaceEnv if it
// is set, else root's, else the user's own. Its error says what to type.
func Find(getenv func(string) string) (string, error) {
	places := []string{getenv(PlaceEnv)}
	if places[0] == "" {
		places = []string{shared}
		if cache := userCache(getenv); cache != "" {
			places = append(places, filepath.Join(cache, "sluice", "frameworks"))
		}
	}
	for _, place := range places {
		// The link is resolved, because an installation may change it during the test.
		if behind, err := filepath.EvalSymlinks(place); err == nil {
			place = behind
		}
		python, err := exec.LookPath(filepath.Join(place, "bin", "python"))
		if err == nil {
			return python, nil
		}
	}
	return "", errors.New("no Python in " + strings.Join(places, " or ") + "; type: etc/install-frameworks")
}

func userCache(getenv func(string) string) string {
	if cache := getenv("XDG_CACHE_HOME"); cache != "" {
		return cache
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".cache")
	}
	return ""
}

// OptunaEnv is the variable with the path of Optuna's environment, if it is not where
// etc/install-optuna puts it.
const OptunaEnv = "SLUICE_OPTUNA"

// Optuna returns the path of a Python with Optuna. Without it, and in short mode, the test
// is skipped with the reason; see RequireEnv.
func Optuna(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT TESTED in short mode: sluice.optuna")
	}
	places := []string{os.Getenv(OptunaEnv)}
	if places[0] == "" {
		places = []string{filepath.Join(filepath.Dir(shared), "optuna")}
		if cache := userCache(os.Getenv); cache != "" {
			places = append(places, filepath.Join(cache, "sluice", "optuna"))
		}
	}
	for _, place := range places {
		if python, err := exec.LookPath(filepath.Join(place, "bin", "python")); err == nil {
			return python
		}
	}
	why := "no Python in " + strings.Join(places, " or ") + "; type: etc/install-optuna"
	if os.Getenv(RequireEnv) == "1" {
		t.Fatalf("%s=1 and %s", RequireEnv, why)
	}
	t.Skip("NOT TESTED: sluice.optuna: " + why)
	return ""
}
