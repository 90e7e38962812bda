//go:build linux

package sandbox

import (
	"encoding/binary"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// Architectures of linux/audit.h, as seccomp_data.arch shows them.
var auditArch = map[string]uint32{"amd64": 0xC000003E, "arm64": 0xC00000B7}

// refused are system calls that no build needs and from which kernels have been broken out of. They fail with EPERM.
var refused = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_QUOTACTL,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_MOVE_PAGES, unix.SYS_MBIND, unix.SYS_MIGRATE_PAGES, unix.SYS_VHANGUP,
}

// Families of sockets that a program may open. Others, as AF_VSOCK to a machine's host, are not bound to the network
// namespace or have no use without a network.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Offsets into struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
)

// Answers of a filter (linux/seccomp.h).
const (
	retAllow = 0x7fff0000
	retErrno = 0x00050000
	retKill  = 0x80000000
)

// seccompFilter is the program for --seccomp, or nil on an architecture that it does not know.
func seccompFilter() []byte {
	arch, known := auditArch[runtime.GOARCH]
	if !known {
		return nil
	}
	p := []unix.SockFilter{
		load(offArch),
		jumpEqual(arch, 1, 0),
		ret(retKill), // another architecture's numbers would mean other calls
		load(offNumber),
	}
	if runtime.GOARCH == "amd64" { // x32 calls have their own numbers
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: 0x40000000, Jt: 0, Jf: 1}, ret(retErrno|uint32(unix.ENOSYS)))
	}
	for _, nr := range refused {
		p = append(p, jumpEqual(nr, 0, 1), ret(retErrno|uint32(unix.EPERM)))
	}
	// clone3 hides its flags behind a pointer: ENOSYS makes libraries fall back to clone.
	p = append(p, jumpEqual(unix.SYS_CLONE3, 0, 1), ret(retErrno|uint32(unix.ENOSYS)))
	p = append(p, jumpEqual(unix.SYS_CLONE, 0, 4), load(offArg0),
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: newNamespaces, Jt: 0, Jf: 1},
		ret(retErrno|uint32(unix.EPERM)), ret(retAllow))
	// TIOCSTI and TIOCLINUX put words into the mouth of a terminal.
	p = append(p, jumpEqual(unix.SYS_IOCTL, 0, 5), load(offArg0+8),
		jumpEqual(unix.TIOCSTI, 1, 0), jumpEqual(0x541C, 0, 1), ret(retErrno|uint32(unix.EPERM)), ret(retAllow))
	p = append(p, jumpEqual(unix.SYS_SOCKET, 0, uint8(2+len(families))), load(offArg0))
	for i, f := range slices.Backward(families) {
		p = append(p, jumpEqual(f, uint8(i+1), 0))
	}
	return encode(append(p, ret(retErrno|uint32(unix.EAFNOSUPPORT)), ret(retAllow)))
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jumpEqual(k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func ret(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
}

func encode(p []unix.SockFilter) []byte {
	var b []byte
	for _, f := range p {
		b = binary.NativeEndian.AppendUint16(b, f.Code)
		b = append(b, f.Jt, f.Jf)
		b = binary.NativeEndian.AppendUint32(b, f.K)
	}
	return b
}
