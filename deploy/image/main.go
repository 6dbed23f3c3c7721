// Command image writes the image of deploy/Dockerfile without an engine: an archive that is an OCI image layout,
// and that docker load reads, too. The same files make the same bytes.
//
//	go run ./deploy/image ROOT linux/amd64 VERSION COMMIT DATE > image.tar
//
// ROOT has the files of the image.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

type object map[string]any

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: image ROOT OS/ARCHITECTURE VERSION COMMIT DATE > IMAGE.tar")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// write writes the image. date is RFC 3339.
func write(to io.Writer, root, platform, version, commit, date string) error {
	made, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return err
	}
	layer, err := layerOf(root, made)
	if err != nil {
		return err
	}
	system, architecture, _ := strings.Cut(platform, "/")
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(layer); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	l := layout{}
	labels := map[string]string{ // those of deploy/Dockerfile
		"org.opencontainers.image.title": "scoreboard", "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.version": version, "org.opencontainers.image.revision": commit,
		"org.opencontainers.image.created": date,
	}
	blob := l.blob("application/vnd.oci.image.layer.v1.tar+gzip", zipped.Bytes())
	config := l.json("application/vnd.oci.image.config.v1+json", object{
		"created": date, "os": system, "architecture": architecture,
		"config": object{
			"User": "65532:65532", "Env": []string{"PATH=/usr/local/bin"}, "Cmd": []string{"scoreboardd"},
			"ExposedPorts": object{"8080/tcp": object{}, "8081/tcp": object{}}, "Labels": labels,
		},
		"rootfs":  object{"type": "layers", "diff_ids": []string{digest(layer)}},
		"history": []object{{"created": date, "created_by": "deploy/image"}},
	})
	manifest := l.json("application/vnd.oci.image.manifest.v1+json", object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": config, "layers": []object{blob},
	})
	tag := "v" + strings.ReplaceAll(version, "+", "-") // a tag has no plus sign
	manifest["annotations"] = map[string]string{"org.opencontainers.image.ref.name": tag}
	l.file("index.json", object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []object{manifest},
	})
	l.file("oci-layout", object{"imageLayoutVersion": "1.0.0"})
	l.file("manifest.json", []object{{ // for docker load
		"Config": path(config), "RepoTags": []string{"scoreboard:" + tag}, "Layers": []string{path(blob)},
	}})
	return l.write(to, made)
}

// layerOf returns the files below a folder as a layer, owned by root.
func layerOf(root string, made time.Time) ([]byte, error) {
	folder, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	err = fs.WalkDir(folder.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		header := &tar.Header{Name: name, Mode: 0o755, ModTime: made, Typeflag: tar.TypeDir}
		if e.IsDir() {
			header.Name += "/"
			return t.WriteHeader(header)
		}
		header.Typeflag, header.Size, header.Mode = tar.TypeReg, info.Size(), 0o644
		if info.Mode()&0o100 != 0 {
			header.Mode = 0o755
		}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		content, err := folder.ReadFile(name)
		if err != nil {
			return err
		}
		_, err = t.Write(content)
		return err
	})
	if err == nil {
		err = t.Close()
	}
	return b.Bytes(), err
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

// path returns where the layout has a blob.
func path(descriptor object) string {
	name, _ := descriptor["digest"].(string)
	return "blobs/" + strings.Replace(name, ":", "/", 1)
}

// A layout is the files of an image, in the order in which they are written.
type layout []struct {
	name    string
	content []byte
}

// blob adds a blob and returns its descriptor.
func (l *layout) blob(media string, content []byte) object {
	descriptor := object{"mediaType": media, "digest": digest(content), "size": len(content)}
	l.add(path(descriptor), content)
	return descriptor
}

func (l *layout) json(media string, v object) object { return l.blob(media, encoded(v)) }

func (l *layout) file(name string, v any) { l.add(name, encoded(v)) }

func (l *layout) add(name string, content []byte) {
	*l = append(*l, struct {
		name    string
		content []byte
	}{name, content})
}

func (l *layout) write(to io.Writer, made time.Time) error {
	t := tar.NewWriter(to)
	for _, f := range *l {
		header := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), ModTime: made}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(f.content); err != nil {
			return err
		}
	}
	return t.Close()
}

// encoded returns v as JSON, whose keys are sorted.
func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // v has texts and numbers only
	}
	return b
}
