package backends

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/scoreboard/scoreboard/server/devstack"
	"github.com/scoreboard/scoreboard/server/devstack/process"
)

const (
	kafkaVersion    = "4.3.0" // as in pom.xml
	downloadTimeout = 5 * time.Minute
)

// kafkaPOM is the Maven project whose dependencies are an Apache Kafka broker.
//
//go:embed pom.xml
var kafkaPOM []byte

// KafkaJars returns the folder of the broker's jars in the user's cache, and
// downloads them with Maven if they are missing. A lock prevents concurrent downloads.
func KafkaJars(ctx context.Context) (string, error) {
	cache, err := devstack.CacheDir()
	if err != nil {
		return "", err
	}
	libs := filepath.Join(cache, "kafka-"+kafkaVersion)
	if isDir(libs) {
		return libs, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("the jars of Apache Kafka and mvn, which downloads them: %w", ErrMissing)
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	lock, err := process.WaitLock(ctx, libs+".lock")
	if err != nil {
		return "", fmt.Errorf("wait for another process to finish the download: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if isDir(libs) {
		return libs, nil
	}
	part, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return "", fmt.Errorf("create a download folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(part) }()
	if err := os.WriteFile(filepath.Join(part, "pom.xml"), kafkaPOM, 0o600); err != nil {
		return "", fmt.Errorf("write the list of jars: %w", err)
	}
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+filepath.Join(part, "libs"))
	cmd.Dir = part
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the jars of Apache Kafka: %w, and the download with mvn failed: %w: %s",
			ErrMissing, err, bytes.TrimSpace(out))
	}
	if err := os.Rename(filepath.Join(part, "libs"), libs); err != nil {
		return "", fmt.Errorf("move the downloaded jars: %w", err)
	}
	return libs, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
