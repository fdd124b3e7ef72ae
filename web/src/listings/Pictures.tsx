import { useState } from 'react'

import type { Schemas } from '../api/client'
import { useSay } from '../say/Say'
import { Ask } from '../ui/Ask'
import { useShortcuts } from '../ui/keys'
import { Copy, Empty, Section } from '../ui/parts'

type Image = Schemas['ImageDetail']

const most = 40 // pictures in the strip

/** Pictures shows what is stored; a picture that is not has its reason. Nothing is loaded from its site. */
export function Pictures({ images }: { images: Image[] }) {
  const { say } = useSay()
  const t = say.listing
  const kept = images.filter((i) => i.key)
  const [at, setAt] = useState<number>()
  const [full, setFull] = useState(false)
  const n = at ?? Math.max(
    images.findIndex((i) => i.key),
    0,
  ) // prettier-ignore
  const shown = images[n]
  const walk = (by: number) => setAt((n + by + images.length) % images.length)
  useShortcuts(shown?.key && !full ? [{ keys: 'f', what: t.fullSize, act: () => setFull(true) }] : [])
  return (
    <Section
      title={t.pictures}
      note={images.length > 0 ? t.picturesNote(kept.length, images.length) : undefined}
      go={
        shown?.key && (
          <button className="btn q" onClick={() => setFull(true)}>
            {t.fullSize} <kbd>f</kbd>
          </button>
        )
      }
    >
      {images.length === 0 && <Empty>{t.noPictures}</Empty>}
      {shown &&
        (shown.key ? (
          <img
            className="photo"
            src={`/images/${encodeURIComponent(shown.key)}`}
            alt={t.picture(n + 1, images.length)}
          />
        ) : (
          <div className="photo no">
            <b>{t.imageStates[shown.state]}</b>
            {shown.reason && <span>{shown.reason}</span>}
            {shown.attempts > 0 && <span className="mu">{t.tries(shown.attempts)}</span>}
          </div>
        ))}
      <div className="strip">
        {images.slice(0, most).map((i, one) => (
          <button
            key={one}
            aria-pressed={one === n}
            aria-label={`${t.picture(one + 1, images.length)}: ${t.imageStates[i.state]}${i.reason ? ', ' + i.reason : ''}`}
            title={i.reason || t.imageStates[i.state]}
            className={i.state === 'failed' || i.state === 'dropped' ? 'no' : i.key ? '' : 'wait'}
            onClick={() => setAt(one)}
          >
            {(i.thumbnail_key ?? i.key) ? (
              <img loading="lazy" src={`/images/${encodeURIComponent((i.thumbnail_key ?? i.key)!)}`} alt="" />
            ) : (
              t.imageStates[i.state]
            )}
          </button>
        ))}
      </div>
      {shown && (
        <p className="cap">
          <span>
            {t.picture(n + 1, images.length)}
            {shown.width ? `, ${shown.width} × ${shown.height}` : ''}
          </span>
          {shown.sha256 && (
            <Copy text={shown.sha256} short={`sha256 ${shown.sha256.slice(0, 4)}…${shown.sha256.slice(-4)}`} />
          )}
        </p>
      )}
      {full && shown && (
        <Ask title={t.fullSize} onClose={() => setFull(false)}>
          <div
            className="full"
            onKeyDown={(e) => {
              if (e.key === 'ArrowRight' || e.key === 'j') walk(1)
              if (e.key === 'ArrowLeft' || e.key === 'k') walk(-1)
              if (e.key === 'f') setFull(false)
            }}
          >
            {shown.key ? (
              <img src={`/images/${encodeURIComponent(shown.key)}`} alt={t.picture(n + 1, images.length)} />
            ) : (
              <p>{shown.reason || t.imageStates[shown.state]}</p>
            )}
            <p className="btns">
              <button className="btn" aria-label={t.previousPicture} onClick={() => walk(-1)}>
                ←
              </button>
              <span className="mu" role="status">
                {t.picture(n + 1, images.length)}
              </span>
              <button className="btn" aria-label={t.nextPicture} onClick={() => walk(1)}>
                →
              </button>
              <button className="btn" autoFocus onClick={() => setFull(false)}>
                {say.close}
              </button>
            </p>
          </div>
        </Ask>
      )}
    </Section>
  )
}
