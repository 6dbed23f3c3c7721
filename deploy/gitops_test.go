package deploy

import (
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
	refusal := strings.Index(workflow, "sha256:LOOK-UP-' .github/workflows deploy/gitops/application.yaml")
	if push := strings.Index(workflow, "build-push-action"); refusal < 0 || push < refusal {
		t.Error("the release does not stop at a placeholder before it pushes")
	}
	application := readText(t, "gitops/application.yaml")
	for _, want := range []string{"name: image.repository", "name: image.digest"} {
		if !strings.Contains(application, want) {
			t.Errorf("the Argo CD application has no %q", want)
		}
	}
}
