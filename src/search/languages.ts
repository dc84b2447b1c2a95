// What search knows of the languages that people write in: which words only hold a sentence together, and which endings do not
// change what a word means. The index stems English; words of other languages are shortened when they are searched for.
import { fillerWords } from '../domain/text.ts'

export type Language = 'English' | 'other'

/** A word that a question has because it is a sentence. */
export function isFiller(word: string, language: Language): boolean {
  const lower = word.toLowerCase()
  return fillerWords.has(lower) || (language === 'other' && foreignFillers.has(lower))
}

/** Two words of another language, or one in a query without English filler words: people mix English terms into every
 *  language, and English has words and names that are filler words elsewhere. */
export function languageOf(words: string[]): Language {
  const isForeign = (word: string): boolean => foreignFillers.has(word) || hasForeignLetter.test(word)
  const lower = words.map((word) => word.toLowerCase())
  const least = lower.some((word) => fillerWords.has(word)) ? 2 : 1
  return lower.filter(isForeign).length >= least ? 'other' : 'English'
}

/** Letters that English words do not have. */
const hasForeignLetter = /[\u00df-\u024f\u0370-\u0dff]/u

/** Words that mean something in English (`die`, `son`, `comment`, `per`) are left out. */
const foreignFillers = new Set(
  // German
  (
    'der das und oder nicht ist sind wir ihr sie ein eine einen einem einer eines dem des im zu zum zur mit von vom für auf ' +
    'wie wo wann warum welche welcher welches haben hatten wurde wurden bei nach über wegen ' +
    // French
    'le les un une des du et ou est sont nous vous ils elle elles dans pour avec sur qui que quoi quand où pourquoi ' +
    'avons avait été cette ces ' +
    // Spanish and Portuguese
    'el una unos unas del es son fue por para qué que cuándo dónde cómo por quién cuál hemos porque ' +
    'os uma nos das foi não quando onde porquê qual ' +
    // Italian
    'il lo gli di che è sono nel nella perché dove abbiamo della delle ' +
    // Dutch
    'het een voor niet wij zijn hoe waar wanneer waarom hebben werd ' +
    // Polish, Russian, Ukrainian
    'nie jest jak gdzie kiedy dlaczego czy się и в на не что как где когда почему мы это для по из у та що як де чому'
  )
    .split(' ')
    .filter((word) => !fillerWords.has(word)),
)

const endings =
  /(?:ungen|ung|heiten|heit|keiten|keit|iert|ieren|ations?|ements?|ement|aciones|ación|ações|ação|amento|zioni|zione|ando|iendo|ados?|adas?|idos?|idas?|ions?|eurs?|euse|ités?|dades?|mente|ern|ens|est|end|en|er|em|es|et|e|n|s|t|os|as|a|o|i|ами|ями|ого|его|ыми|ать|ить|ала|ило|ов|ев|ах|ях|ам|ом|ей|ий|ый|ая|ое|ые|ы|и|а|я|о|е|у|ю|ь)$/u
const leastStem = 4

/** The word without its ending; undefined if too little of it would be left. */
export function foreignStem(word: string): string | undefined {
  const stem = word.toLowerCase().replace(endings, '')
  return /^[\p{L}\p{M}]+$/u.test(word) && stem.length >= leastStem ? stem : undefined
}
