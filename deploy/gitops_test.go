package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The workflow runs actions by commit, because their tags can be moved, gives each job the rights
// that it needs, and releases nothing while a digest has not been looked up. The cluster runs the
// image by digest.
func TestReleasesArePinned(t *testing.T) {
	t.Parallel()
	workflow := readText(t, "gitops/workflow.yml")
	uses := regexp.MustCompile(`uses: (\S+)`).FindAllStringSubmatch(workflow, -1)
	pinned := regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`)
	for _, action := range uses {
		if !pinned.MatchString(action[1]) {
			t.Errorf("%s is not pinned by commit", action[1])
		}
	}
	if len(uses) < 7 {
		t.Errorf("found %d actions, want all 7", len(uses))
	}
	if !strings.Contains(workflow, "\npermissions: {}\n") ||
		strings.Count(workflow, "    permissions: {contents: read") != 2 {
		t.Error("a job has rights that it does not name")
	}
	refusal := strings.Index(workflow,
		`.ci/placeholders "$GITHUB_REF_NAME" .github/workflows deploy/gitops/application.yaml`)
	if push := strings.Index(workflow, "build-push-action"); refusal < 0 || push < refusal {
		t.Error("the release does not stop at a placeholder before it pushes")
	}
	// The image is compiled as its own platform, which a runner of another one has to emulate.
	emulator, build := strings.Index(workflow, "docker/setup-qemu-action"), strings.Index(workflow, "build-push-action")
	if !strings.Contains(workflow, "platforms: linux/amd64,linux/arm64\n") || emulator < 0 || emulator > build {
		t.Error("the release does not build for arm64, or nothing runs what it builds with there")
	}
	application := readText(t, "gitops/application.yaml")
	for _, want := range []string{"name: image.repository", "name: image.digest"} {
		if !strings.Contains(application, want) {
			t.Errorf("the Argo CD application has no %q", want)
		}
	}
}

// The release stops at each placeholder, wherever it is, but not at itself nor at the digest of its
// own image, which nobody knows before.
func TestReleaseRefusesPlaceholders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check := func(release, workflow, application string) (string, bool) {
		for name, text := range map[string]string{"ci.yml": workflow, "application.yaml": application} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.CommandContext(t.Context(), "../.ci/placeholders", release,
			filepath.Join(dir, "ci.yml"), filepath.Join(dir, "application.yaml")).CombinedOutput()
		return string(out), err == nil
	}
	workflow, application := readText(t, "gitops/workflow.yml"), readText(t, "gitops/application.yaml")
	placeholder := regexp.MustCompile(`sha256:LOOK-UP-[\w.-]+`)
	digest := "sha256:" + strings.Repeat("0", 64)
	known := placeholder.ReplaceAllString(workflow, digest)
	if known == workflow || !placeholder.MatchString(application) {
		t.Fatal("there are no placeholders any more: change this test")
	}
	if out, ok := check("v1.0.0", workflow, application); ok || !strings.Contains(out, "golang") {
		t.Errorf("the image that compiles is a placeholder, and the release goes on: %s", out)
	}
	if out, ok := check("v1.0.0", known, application); !ok {
		t.Errorf("the first release is refused for its own image: %s", out)
	}
	if out, ok := check("v1.0.1", known, application); ok || !strings.Contains(out, "v1.0.0") {
		t.Errorf("the image of the release before is a placeholder, and the release goes on: %s", out)
	}
	if out, ok := check("v1.0.1", known, placeholder.ReplaceAllString(application, digest)); !ok {
		t.Errorf("the release is refused without a placeholder: %s", out)
	}
}
