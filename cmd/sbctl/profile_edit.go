package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// profileNames are the names that "sbctl profile add" accepts: they are also names of
// files, and no flag.
var profileNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// secretPath is the file that "sbctl profile add" keeps a profile's token or key secret
// in, apart from config.yaml, which people copy between machines.
func (ps *profiles) secretPath(profile, kind string) string {
	return filepath.Join(ps.dir(), "secrets", profile+"."+kind)
}

// The kinds of secretPath.
const (
	kindToken     = "token"
	kindKeySecret = "key_secret"
)

// keepSecret writes a secret of a profile to its own file; an empty one is none.
func (ps *profiles) keepSecret(profile, kind, value string) (secret, error) {
	if value == "" {
		return secret{}, nil
	}
	path := ps.secretPath(profile, kind)
	if err := writePrivateFile(path, []byte(value+"\n")); err != nil {
		return secret{}, err
	}
	if rest, ok := strings.CutPrefix(path, ps.env["HOME"]+string(filepath.Separator)); ok && ps.env["HOME"] != "" {
		path = "~/" + filepath.ToSlash(rest)
	}
	return secret{File: path}, nil
}

// dropSecrets deletes the files that keepSecret wrote for a profile.
func (ps *profiles) dropSecrets(profile string) error {
	var problems error
	for _, kind := range []string{kindToken, kindKeySecret} {
		if err := os.Remove(ps.secretPath(profile, kind)); !errors.Is(err, fs.ErrNotExist) {
			problems = errors.Join(problems, err)
		}
	}
	return problems
}

// put adds or replaces a profile in config.yaml; nil removes it. Other profiles
// and the comments of the file stay.
func (ps *profiles) put(name string, to *profile) error {
	doc, err := readDocument(ps.configPath())
	if err != nil {
		return err
	}
	profiles := valueOf(doc.Content[0], "profiles")
	if profiles.Kind != yaml.MappingNode { // absent, or present without a value
		*profiles = yaml.Node{Kind: yaml.MappingNode}
	}
	if to == nil {
		removeKey(profiles, name)
	} else if err := valueOf(profiles, name).Encode(to); err != nil {
		return fmt.Errorf("encode profile %s: %w", name, err)
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(doc), encoder.Close()); err != nil {
		return fmt.Errorf("encode %s: %w", ps.configPath(), err)
	}
	return writePrivateFile(ps.configPath(), b.Bytes())
}

// readDocument parses a YAML file; a missing or empty one is an empty mapping.
func readDocument(path string) (*yaml.Node, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if doc.Kind == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	return &doc, nil
}

// valueOf returns the value of a key of a mapping, which it adds if it is absent.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	name, value := &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &yaml.Node{}
	name.SetString(key)
	mapping.Content = append(mapping.Content, name, value)
	return value
}

func removeKey(mapping *yaml.Node, key string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = append(mapping.Content[:i], mapping.Content[i+2:]...)
			return
		}
	}
}

// writePrivateFile replaces a file with one of mode 0600, in a folder of mode 0700 if
// that does not exist yet. A reader sees the old content or the new one. If path is a
// symbolic link, the file that it leads to is replaced.
func writePrivateFile(path string, content []byte) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
