package wire

// ListProfiles asks for the names of the profiles that one may see.
//
//	0  n  ignored
type ListProfiles struct{ empty }

// ProfilesList answers ListProfiles. Over 89 bytes it travels in fragments,
// even when one packet would hold it.
//
//	0  n  names in byte order, with commas between them
type ProfilesList struct {
	Names Text `json:"names"`
}

func (m ProfilesList) append(dst []byte) ([]byte, error)   { return appendText(dst, m.Names) }
func (m *ProfilesList) decode(base []byte) ([]byte, error) { return decodeText(&m.Names, base) }

// GetProfileInfo asks about one profile.
//
//	0  1  n
//	1  n  name
//	      bytes after it are ignored
type GetProfileInfo struct {
	Name Text `json:"name"`
}

var (
	errLongName  = tooLong("a name has at most 255 bytes")
	errNoName    = truncated("no length of the name")
	errShortName = invalid("name is longer than its payload")
)

func (m GetProfileInfo) append(dst []byte) ([]byte, error) {
	if len(m.Name) > 255 {
		return dst, errLongName
	}
	return append(append(dst, byte(len(m.Name))), m.Name...), nil
}

func (m *GetProfileInfo) decode(base []byte) ([]byte, error) {
	if len(base) == 0 {
		return nil, errNoName
	}
	end := 1 + int(base[0])
	if end > len(base) {
		return nil, errShortName
	}
	m.Name = base[1:end]
	return base[end:], nil
}

// ProfileInfo answers GetProfileInfo and AcceptProfileTOS.
//
//	0  n  "name;port;advertise;visibility", or "NOTFOUND;name"
type ProfileInfo struct {
	Info Text `json:"info"`
}

func (m ProfileInfo) append(dst []byte) ([]byte, error)   { return appendText(dst, m.Info) }
func (m *ProfileInfo) decode(base []byte) ([]byte, error) { return decodeText(&m.Info, base) }

// GetProfileTOS asks for the terms of service of a profile; of the listener's
// own when the name is empty.
//
//	0  1  n
//	1  n  name
//	      bytes after it are ignored
type GetProfileTOS struct {
	Name Text `json:"name"`
}

func (m GetProfileTOS) append(dst []byte) ([]byte, error) { return GetProfileInfo(m).append(dst) }
func (m *GetProfileTOS) decode(base []byte) ([]byte, error) {
	return (*GetProfileInfo)(m).decode(base)
}

// ProfileTOSData answers GetProfileTOS: always in fragments, with the fields
// profile.name and request.seq_num in the trailer of the joined payload.
//
//	0  n  the terms, or "NOTFOUND;name"
type ProfileTOSData struct {
	Terms Text `json:"terms"`
}

func (m ProfileTOSData) append(dst []byte) ([]byte, error)   { return appendText(dst, m.Terms) }
func (m *ProfileTOSData) decode(base []byte) ([]byte, error) { return decodeText(&m.Terms, base) }

// AcceptProfileTOS accepts the terms of the listener's profile.
//
//	0  1  n
//	1  n  name; empty means the listener's own
//	      bytes after it are ignored
type AcceptProfileTOS struct {
	Name Text `json:"name"`
}

func (m AcceptProfileTOS) append(dst []byte) ([]byte, error) { return GetProfileInfo(m).append(dst) }
func (m *AcceptProfileTOS) decode(base []byte) ([]byte, error) {
	return (*GetProfileInfo)(m).decode(base)
}
