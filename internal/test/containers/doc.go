// Package containers checks the image of the daemon and docker-compose.yml as their users run
// them. Its test needs a Docker engine and the images; .ci/containers provides both and runs
// it. The stack has a project of its own, so that another one on the machine keeps its data,
// but needs the same ports.
package containers
