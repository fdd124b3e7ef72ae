package crawl

import "strings"

// IsDocument says that the extension of a path, which may have a query, names a file that is no page and has no links
// to follow: a picture, an archive, a PDF, …. A path without an extension, or with one that is not known, is a page.
func IsDocument(path string) bool {
	if i := strings.IndexByte(path, '?'); i >= 0 {
		path = path[:i]
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
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
const longestExtension = "webmanifest"

// documents are the extensions of files that are no pages. What often serves pages is not among them, whatever it looks
// like: cgi, do, jsp, xml, txt, json.
var documents = func() map[string]bool {
	set := map[string]bool{}
	for ext := range strings.FieldsSeq(`
		pdf ps eps djvu epub mobi azw azw3 chm
		doc docx docm dot dotx rtf odt ott wpd xls xlsx xlsm xlsb xlt ods csv tsv
		ppt pptx pptm pps ppsx odp key vsd vsdx mdb accdb eml ics vcf
		zip rar 7z gz tgz bz2 tbz tbz2 xz txz lz lzma zst br tar cab arj lha lzh ar cpio iso img dmg vhd vmdk
		exe msi msix bin bat deb rpm apk ipa appx jar war ear pkg whl gem nupkg crx xpi swf class dll so
		jpg jpeg jpe jfif png gif bmp webp avif heic heif tif tiff ico cur svg svgz psd ai cr2 nef dng xcf jp2 jxl tga
		mp3 mp2 m4a aac ogg oga opus wav wave flac wma aif aiff mid midi amr ra ram m3u m3u8 pls
		mp4 m4v mpg mpeg mpe avi mov qt wmv flv f4v webm ogv mkv 3gp 3g2 m2ts vob asf rm rmvb
		css js mjs cjs map wasm scss less woff woff2 ttf otf eot fon webmanifest
		dwg dxf stl obj fbx gltf glb blend kml kmz gpx shp geojson
		torrent sig asc md5 sha1 sha256 sha512 pem crt cer der p7b p12 pfx crl
		sqlite db sql bak dump parquet avro npy npz mat rdata`) {
		set[ext] = true
	}
	return set
}()
