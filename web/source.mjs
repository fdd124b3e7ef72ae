// Writes dist/SOURCE: the sum of what dist was built from, which TestDistIsFresh compares without Node.
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'

const sources = [
  'src', 'public', 'index.html', 'package.json', 'package-lock.json', 'tsconfig.json', 'vite.config.ts',
  '../api/testdata/openapi.golden.yaml',
]
const sha256 = (data) => createHash('sha256').update(data).digest('hex')
const files = (name) =>
  statSync(name).isDirectory() ? readdirSync(name).flatMap((inner) => files(`${name}/${inner}`)) : [name]

const all = sources
  .flatMap(files)
  .filter((name) => !name.includes('.test.') && !name.endsWith('schema.gen.ts'))
  .sort((a, b) => (a < b ? -1 : 1))
  .map((name) => `${name} ${sha256(readFileSync(name))}\n`)
writeFileSync('dist/SOURCE', sha256(all.join('')) + '\n')
