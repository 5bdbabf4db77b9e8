package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"syscall"
)

// worksAs is the owner of the data as whom a command of root works; nil if it works as its caller.
var worksAs *fileOwner

// fileOwner is the user and the group of a file.
type fileOwner struct{ uid, gid int }

// workAsOwner makes a command of root go on as the user who owns dir, or else its parent directory, until
// workAsCaller. That user can put links into the directory: with root's rights the command would write and
// read where they point. What it makes there belongs to the server's user, who can start with it.
func workAsOwner(dir string) error {
	if os.Geteuid() != 0 || worksAs != nil {
		return nil
	}
	for _, place := range []string{dir, filepath.Dir(filepath.Clean(dir))} {
		info, err := os.Stat(place)
		if err != nil {
			continue
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != 0 {
			worksAs = &fileOwner{int(s.Uid), int(s.Gid)}
			return worksAs.assume()
		}
	}
	return nil
}

// assume gives the process the rights of a user who is not root.
func (o *fileOwner) assume() error {
	if err := errors.Join(syscall.Setgroups([]int{o.gid}), syscall.Setegid(o.gid), syscall.Seteuid(o.uid)); err != nil {
		return fmt.Errorf("work as %s: %w", userName(o.uid), err)
	}
	return nil
}

// workAsCaller ends workAsOwner.
func workAsCaller() error {
	if worksAs == nil {
		return nil
	}
	worksAs = nil
	if err := errors.Join(syscall.Seteuid(0), syscall.Setegid(0), syscall.Setgroups(nil)); err != nil {
		return fmt.Errorf("work as root again: %w", err)
	}
	return nil
}

// asCaller runs f with the rights of who has given the command: what that user names outside of the data
// directory need not be open to the owner of the data. The caller must not use the data directory meanwhile.
func asCaller(f func() error) error {
	owner := worksAs
	if owner == nil {
		return f()
	}
	if err := workAsCaller(); err != nil {
		return err
	}
	err := f()
	worksAs = owner
	return errors.Join(err, owner.assume())
}

// lend makes a directory that the owner of the data can write to, as root if only root can make it. GiveBack
// makes root the owner of what was written. It refuses a place of root that others can write to.
func lend(dir string) (giveBack func() error, err error) {
	giveBack = func() error { return nil }
	owner := worksAs
	if owner == nil {
		return giveBack, nil
	}
	if probe, err := tryDir(dir); err == nil {
		return giveBack, os.Remove(probe)
	}
	err = asCaller(func() error {
		above, err := os.Stat(filepath.Dir(filepath.Clean(dir)))
		if err != nil {
			return err
		}
		if s := above.Sys().(*syscall.Stat_t); s.Uid != 0 || above.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("%s cannot write to %s, nor is it in a directory of root alone", userName(owner.uid), dir)
		}
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return errors.Join(err, fmt.Errorf("%s is not a directory", dir))
		}
		return giveTo(dir, fileOwner{}, *owner)
	})
	if err != nil {
		return nil, err
	}
	giveBack = func() error { return asCaller(func() error { return giveTo(dir, *owner, fileOwner{}) }) }
	probe, err := tryDir(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the command works as %s, who owns the data: %w", userName(owner.uid), err),
			giveBack())
	}
	return giveBack, os.Remove(probe)
}

// tryDir makes a directory and an empty file in it, and returns the file's name.
func tryDir(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// giveTo changes the owner of the files of one owner in a directory. Files with several links are left
// alone, because another link may be outside.
func giveTo(dir string, from, to fileOwner) error {
	root, err := os.OpenRoot(dir) // symbolic links must not lead out of it
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was packed into an archive
	}
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
		if int(s.Uid) != from.uid || !d.IsDir() && s.Nlink > 1 {
			return nil
		}
		return root.Lchown(name, to.uid, to.gid)
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
