package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"syscall"
)

// givers has the functions that giveBack calls; see keepOwner.
var givers struct {
	sync.Mutex
	list []func() error
}

// keepOwner makes giveBack change the owner of files in dir that root has created in this
// command to the owner of dir, or of its parent. Otherwise a server that runs as its own user
// could not start after a restore or a migration by root.
func keepOwner(dir string) {
	if os.Geteuid() != 0 {
		return
	}
	for _, place := range []string{dir, filepath.Dir(dir)} {
		info, err := os.Stat(place)
		if err != nil {
			continue
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != 0 {
			givers.Lock()
			defer givers.Unlock()
			givers.list = append(givers.list, func() error { return giveTo(dir, int(s.Uid), int(s.Gid)) })
			return
		}
	}
}

// giveTo changes the owner of root's files in a directory. Files with several links are left
// alone, because another link may be outside.
func giveTo(dir string, uid, gid int) error {
	if err := os.Lchown(dir, uid, gid); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the command has not created it
		}
		return err
	}
	root, err := os.OpenRoot(dir) // symbolic links must not lead out of it
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		s := info.Sys().(*syscall.Stat_t)
		if s.Uid != 0 || !d.IsDir() && s.Nlink > 1 {
			return nil
		}
		return root.Lchown(name, uid, gid)
	})
}

// foreign adds to a permission error who owns the file, and what lets the process use it. Me is
// the user id of the process.
func foreign(err error, me int) error {
	path := refused(err)
	if path == "" || me == 0 {
		return err
	}
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		info, wrong := os.Stat(path)
		if wrong != nil {
			continue // a directory above it is not readable
		}
		owner := int(info.Sys().(*syscall.Stat_t).Uid)
		if owner == me {
			break
		}
		return fmt.Errorf("%w\n%s belongs to %s: %s", err, path, userName(owner), remedy(path, info.IsDir(), owner, me))
	}
	return err
}

// remedy says what lets user me use a file that belongs to the user owner. The user of the
// installed server needs the right to it, because the server runs as nobody else.
func remedy(path string, isDir bool, owner, me int) string {
	_, server := ownerOf(installed.data)
	_, above := ownerOf(filepath.Dir(path))
	mode := "640"
	if isDir {
		mode = "750"
	}
	switch {
	case above == me:
		return fmt.Sprintf("as root, 'chown -R %s %s' gives it back", userName(me), path)
	case server == me:
		return fmt.Sprintf("as root, 'chgrp %s %s; chmod %s %[2]s' lets the server read it", groupName(me), path, mode)
	case owner == 0:
		return "give the command as root (sudo wamble …)"
	}
	return fmt.Sprintf("give the command as that user (sudo -u %s wamble …)", userName(owner))
}

// groupName returns the name of a user's group, or its number.
func groupName(uid int) string {
	u, err := user.LookupId(fmt.Sprint(uid))
	if err != nil {
		return fmt.Sprint(uid)
	}
	if g, err := user.LookupGroupId(u.Gid); err == nil {
		return g.Name
	}
	return u.Gid
}

// userName returns the name of a user, or "user" and the number of one who has none.
func userName(uid int) string {
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("user %d", uid)
}

// refused returns the path of a permission error; "" for another error.
func refused(err error) string {
	var file *fs.PathError
	var socket *net.OpError
	switch {
	case !errors.Is(err, fs.ErrPermission):
		return ""
	case errors.As(err, &file):
		path, _ := filepath.Abs(file.Path)
		return path
	case errors.As(err, &socket) && socket.Addr != nil && socket.Addr.Network() == "unix":
		path, _ := filepath.Abs(socket.Addr.String())
		return path
	}
	return ""
}

// giveBack changes the owners of files as keepOwner has registered.
func giveBack() error {
	givers.Lock()
	defer givers.Unlock()
	var errs []error
	for _, give := range givers.list {
		errs = append(errs, give())
	}
	givers.list = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("give the files to their owner: %w", err)
	}
	return nil
}
