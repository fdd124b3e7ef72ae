import { useState } from 'react'
import { useLicences } from '../api/queries'
import { useSay } from '../say/Say'
import { Head, Section, Trouble } from '../ui/parts'
import { Reading } from '../ui/Unread'
import './operations.css'

/** Licences lists what the program contains of others. */
export function Licences() {
  const { say } = useSay()
  const list = useLicences()
  const texts = list.data?.texts ?? []
  return (
    <>
      <Head title={say.licences.title}>
        <p className="m2">{say.licences.intro}</p>
      </Head>
      <Trouble error={list.error} again={() => void list.refetch()} />
      {list.isLoading && <Reading />}
      {(['go', 'npm', 'font'] as const).map((kind) => {
        const parts = (list.data?.items ?? []).filter((p) => p.kind === kind)
        if (parts.length === 0) return null
        return (
          <Section key={kind} title={say.licences.kind[kind]} note={parts.length}>
            {parts.map((p) => (
              <Part
                key={p.name + p.version}
                name={p.name + ' ' + p.version}
                licence={p.licence}
                text={p.text === undefined ? undefined : texts[p.text]}
              />
            ))}
          </Section>
        )
      })}
    </>
  )
}

/** Part is one of them. Its text is in the page only while it is open: all together they are some megabytes. */
function Part({ name, licence, text }: { name: string; licence: string; text: string | undefined }) {
  const [open, setOpen] = useState(false)
  return (
    <details
      onToggle={(e) => {
        setOpen(e.currentTarget.open)
      }}
    >
      <summary>
        <span className="m">{name}</span> <span className="mu">{licence}</span>
      </summary>
      {open && <Text text={text} />}
    </details>
  )
}

function Text({ text }: { text: string | undefined }) {
  const { say } = useSay()
  return text ? <pre tabIndex={0}>{text}</pre> : <p className="mu">{say.licences.noText}</p>
}
