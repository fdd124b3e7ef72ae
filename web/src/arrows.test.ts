import { readFileSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'

// What each folder may import of ours. A page never imports a page of another noun.
const may: Record<string, string[]> = {
  api: [],
  say: [],
  ui: ['api', 'say'],
  shell: ['api', 'say', 'ui'],
  today: ['api', 'say', 'ui'],
  listings: ['api', 'say', 'ui'],
  crawl: ['api', 'lineage', 'say', 'ui'],
  lineage: ['api', 'say', 'ui'],
  search: ['api', 'say', 'ui'],
  outreach: ['api', 'say', 'ui'],
  drafts: ['api', 'say', 'ui'],
  operations: ['api', 'say', 'ui'],
}

test('imports follow the arrows', () => {
  const folders = readdirSync('src', { withFileTypes: true }).filter((d) => d.isDirectory())
  for (const { name: folder } of folders) {
    expect(may, folder).toHaveProperty(folder)
    for (const file of readdirSync(`src/${folder}`).filter((f) => /\.tsx?$/.test(f) && !f.endsWith('.gen.ts'))) {
      const text = readFileSync(`src/${folder}/${file}`, 'utf8')
      for (const [, to] of text.matchAll(/from '\.\.\/(\w+)/g)) {
        expect(may[folder], `${folder}/${file} imports ${to}`).toContain(to)
      }
      if (folder !== 'api') expect(text, `${folder}/${file}`).not.toMatch(/\bfetch\(/)
      expect(text, `${folder}/${file}`).not.toMatch(/innerHTML|dangerouslySet/)
    }
  }
})
