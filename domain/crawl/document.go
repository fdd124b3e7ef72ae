package crawl

import "strings"

// IsDocument says that the extension of a path, which may have a query, names a file that is no page: an archive, a
// PDF, a film, …. A path without an extension, or with one that is not known, is a page.
func IsDocument(path string) bool {
	if i := strings.IndexByte(path, '?'); i >= 0 {
		path = path[:i]
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	if file, _, ok := strings.Cut(name, ";"); ok && strings.Contains(file, ".") { // as in "a.pdf;jsessionid=1"
		name = file
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 || len(name)-dot > len(longestExtension)+1 {
		return false
	}
	ext := name[dot+1:]
	for i := range len(ext) {
		if c := ext[i]; c >= 'A' && c <= 'Z' {
			return documents[strings.ToLower(ext)]
		}
	}
	return documents[ext]
}

// longestExtension is one of the longest among documents.
const longestExtension = "parquet"

// documents are the extensions of office documents, data, archives, programs, sound and films: large files, mostly.
// Pictures, styles and scripts that a page links to are small: they are requested, and have no links. What may serve
// a page is not among them, whatever it looks like: cgi, do, jsp, xml, txt, json.
var documents = func() map[string]bool {
	set := map[string]bool{}
	for ext := range strings.FieldsSeq(`
		pdf ps eps djvu epub mobi azw3 chm
		doc docx docm dot dotx rtf odt ott xls xlsx xlsm xlsb ods csv tsv ppt pptx pptm pps ppsx odp vsd vsdx mdb accdb
		zip rar 7z gz tgz bz2 tbz xz txz lz lzma zst tar cab arj lha iso img dmg vhd vmdk
		exe msi msix deb rpm apk ipa jar war whl nupkg
		mp3 m4a aac ogg opus wav flac wma mp4 m4v mpg mpeg avi mov wmv flv webm ogv mkv
		sqlite parquet npz`) {
		set[ext] = true
	}
	return set
}()
