import type { BlobTable } from './blob-table.ts'
import type { CompiledTemplate } from './compiled-template.ts'
import { compileTemplate } from './compiled-template.ts'
import type { StringDictionary } from './string-dictionary.ts'
import type { BackRef, BlobRef } from './value-refs.ts'
import { isBackRef, missingValue, parseRefs } from './value-refs.ts'

/** What a row holds of an event's data. */
export interface DataRecord {
  word: number
  data: string
  refs: string | null
}

/** The run that the event is of. */
interface DataRun {
  id: number
  project: string
}

export interface DecodingContext {
  /** A value of this field is not wanted if it stands in a blob. */
  omittedField: string | undefined
  /** The data of another event of the run. */
  dataOf(run: number, seq: number): string | undefined
}

interface TypedTemplate {
  type: string
  template: CompiledTemplate
}

/** Reads events' data back, exactly as it was given to `encode`. */
export class EventDecoder {
  readonly #dictionary: StringDictionary
  readonly #blobs: BlobTable
  readonly #templates = new Map<number, TypedTemplate>()

  constructor(words: StringDictionary, blobs: BlobTable) {
    this.#dictionary = words
    this.#blobs = blobs
  }

  /** The type and the data of an event. */
  decode(record: DataRecord, run: DataRun, site: DecodingContext): { type: string; data: unknown } {
    if (!record.data.startsWith('['))
      return { type: this.#dictionary.stringFor(record.word), data: this.#whole(record, run, site) }
    const { type, template } = this.#templateFor(record.word)
    return { type, data: template.fill(this.#values(record, run, { ...site, form: template })) }
  }

  /** A transaction was undone: the numbers of its words may be given to others. */
  clear(): void {
    this.#templates.clear()
  }

  #whole({ data, refs }: DataRecord, { project }: DataRun, { omittedField }: DecodingContext): unknown {
    const fields: unknown = JSON.parse(data)
    for (const ref of parseRefs(refs)) {
      if (isBackRef(ref) || ref[0] === omittedField) continue
      // Assigning to a field named __proto__ would change the object's nature and lose the value.
      Object.defineProperty(fields, ref[0], {
        value: this.#stored(project, ref),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
    return fields
  }

  #values(record: DataRecord, run: DataRun, site: DecodingContext & { form: CompiledTemplate }): unknown[] {
    const values = JSON.parse(record.data) as unknown[]
    if (record.refs === null) return values
    const unwanted = site.omittedField === undefined ? -1 : site.form.slotIndex(site.omittedField)
    for (const ref of parseRefs(record.refs)) {
      if (isBackRef(ref)) values[ref[0]] = this.#repeated(run.id, ref, site)
      else if (ref[0] !== unwanted) values[Number(ref[0])] = this.#stored(run.project, ref)
    }
    return values
  }

  /** What is referred to stands in its event itself, never in a third one. */
  #repeated(run: number, ref: BackRef, site: DecodingContext): unknown {
    const data = site.dataOf(run, ref[1])
    return data === undefined ? missingValue(ref) : (JSON.parse(data) as unknown[])[ref[2]]
  }

  #stored(project: string, ref: BlobRef): unknown {
    const bytes = this.#blobs.load(project, ref[1])
    if (!bytes) return missingValue(ref)
    try {
      return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
    } catch {
      return missingValue(ref)
    }
  }

  #templateFor(word: number): TypedTemplate {
    const known = this.#templates.get(word)
    if (known) return known
    const text = this.#dictionary.stringFor(word)
    const end = text.indexOf(' ')
    const shaped = { type: text.slice(0, end), template: compileTemplate(text.slice(end + 1)) }
    this.#templates.set(word, shaped)
    return shaped
  }
}
