import type { Locale } from "../../../shared/locales.ts";

export type Phrase = [sentence: string, tool: string, args: Record<string, unknown>];

const A = "3f2b8c1e-5d4a-4b6f-9c7d-1a2b3c4d5e6f";
const B = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
const S = "d94f3f01-6c1b-4d0a-8a52-2f3b9b1c7e10";

/**
 * Sentences and the expected calls: 15 for each locale, written before the parser and never used for tuning.
 * Relative dates count from Saturday, 21 November 2026.
 */
export const phrases: Record<Locale, Phrase[]> = {
  en: [
    [
      "Which ideas are still open? Most voted first, please.",
      "list_submissions",
      { type: "idea", status: "open", sort: "votes" },
    ],
    [`Pull up submission ${A}`, "get_submission", { submission_id: A }],
    ['Has anybody asked for "dark mode"?', "search_submissions", { q: "dark mode" }],
    [
      'Is there anything like "Export my data as CSV" already?',
      "find_similar_submissions",
      { title: "Export my data as CSV" },
    ],
    ["What categories do we have?", "list_categories", {}],
    [`Read me the discussion on ${A}`, "list_comments", { submission_id: A }],
    [
      'File a problem titled "Login page hangs": "After the last update the login page hangs for a minute."',
      "create_submission",
      {
        type: "problem",
        title: "Login page hangs",
        description: "After the last update the login page hangs for a minute.",
      },
    ],
    [
      `Reply on ${A} with "Thanks, we are looking into it"`,
      "add_comment",
      { submission_id: A, body: "Thanks, we are looking into it" },
    ],
    [`Put my vote on ${A}`, "vote_submission", { submission_id: A }],
    [`Mark ${A} as in progress`, "set_submission_status", { submission_id: A, status: "in_progress" }],
    ["Show me the surveys that are live", "list_surveys", { status: "published" }],
    [`How is survey ${S} doing, what are the numbers?`, "get_survey_analytics", { survey_id: S }],
    [`Take survey ${S} live`, "publish_survey", { survey_id: S }],
    [
      `Which unhappy answers came in to survey ${S} since 1 November 2026?`,
      "list_survey_responses",
      { survey_id: S, sentiment: "negative", start_date: "2026-11-01" },
    ],
    [
      'Is "I love the new editor but it crashes" positive or negative?',
      "analyze_sentiment",
      { texts: ["I love the new editor but it crashes"] },
    ],
  ],
  es: [
    [
      "Enséñame los problemas que están planificados",
      "list_submissions",
      { type: "problem", status: "planned" },
    ],
    [`Quiero ver la sugerencia ${A}`, "get_submission", { submission_id: A }],
    ["Busca «modo oscuro»", "search_submissions", { q: "modo oscuro" }],
    [
      "¿Ya hay alguna propuesta parecida a «Exportar mis datos a CSV»?",
      "find_similar_submissions",
      { title: "Exportar mis datos a CSV" },
    ],
    ["¿Qué categorías existen?", "list_categories", {}],
    [`Dame los comentarios de ${A}`, "list_comments", { submission_id: A }],
    [
      "Crea una idea con el título «Atajos de teclado» y la descripción «Me gustaría usar atajos de teclado en toda la aplicación.»",
      "create_submission",
      {
        type: "idea",
        title: "Atajos de teclado",
        description: "Me gustaría usar atajos de teclado en toda la aplicación.",
      },
    ],
    [
      `Comenta en ${A}: «Gracias, lo estamos mirando»`,
      "add_comment",
      { submission_id: A, body: "Gracias, lo estamos mirando" },
    ],
    [`Quita mi voto de ${A}`, "remove_vote", { submission_id: A }],
    [
      `Cambia el estado de ${A} a completado`,
      "set_submission_status",
      { submission_id: A, status: "completed" },
    ],
    ["¿Qué encuestas tenemos en borrador?", "list_surveys", { status: "draft" }],
    [`Muéstrame la encuesta ${S}`, "get_survey", { survey_id: S }],
    [`Publica la encuesta ${S}`, "publish_survey", { survey_id: S }],
    [
      `Lista las respuestas positivas de la encuesta ${S}`,
      "list_survey_responses",
      { survey_id: S, sentiment: "positive" },
    ],
    [`Une ${A} con ${B}`, "merge_submissions", { source_ids: [A], target_id: B }],
  ],
  fr: [
    ["Quelles sont les idées terminées ?", "list_submissions", { type: "idea", status: "completed" }],
    [`Affiche-moi la contribution ${A}`, "get_submission", { submission_id: A }],
    ["Cherche « mode sombre » dans les contributions", "search_submissions", { q: "mode sombre" }],
    [
      "Est-ce que quelque chose ressemble déjà à « Exporter mes données en CSV » ?",
      "find_similar_submissions",
      { title: "Exporter mes données en CSV" },
    ],
    ["Donne-moi la liste des catégories", "list_categories", {}],
    [`Que disent les commentaires sur ${A} ?`, "list_comments", { submission_id: A }],
    [
      "Signale un problème intitulé « Connexion impossible » : « Depuis hier je ne peux plus me connecter à mon compte. »",
      "create_submission",
      {
        type: "problem",
        title: "Connexion impossible",
        description: "Depuis hier je ne peux plus me connecter à mon compte.",
      },
    ],
    [
      `Réponds sur ${A} : « Merci, nous regardons »`,
      "add_comment",
      { submission_id: A, body: "Merci, nous regardons" },
    ],
    [`Vote pour ${A}`, "vote_submission", { submission_id: A }],
    [`Passe ${A} en cours`, "set_submission_status", { submission_id: A, status: "in_progress" }],
    ["Liste les enquêtes archivées", "list_surveys", { status: "archived" }],
    [`Quels sont les résultats de l'enquête ${S} ?`, "get_survey_analytics", { survey_id: S }],
    [`Supprime l'enquête ${S}`, "delete_survey", { survey_id: S }],
    [
      `Montre les réponses négatives à l'enquête ${S} depuis le 3 novembre 2026`,
      "list_survey_responses",
      { survey_id: S, sentiment: "negative", start_date: "2026-11-03" },
    ],
    [
      "Quel est le ton de « Je suis très déçu par la mise à jour » ?",
      "analyze_sentiment",
      { texts: ["Je suis très déçu par la mise à jour"] },
    ],
  ],
  de: [
    ["Zeig mir alle abgelehnten Ideen", "list_submissions", { type: "idea", status: "declined" }],
    [`Öffne die Einreichung ${A}`, "get_submission", { submission_id: A }],
    ["Hat schon jemand nach „Dunkelmodus“ gefragt?", "search_submissions", { q: "Dunkelmodus" }],
    [
      "Gibt es etwas Ähnliches wie „Daten als CSV exportieren“?",
      "find_similar_submissions",
      { title: "Daten als CSV exportieren" },
    ],
    ["Welche Kategorien gibt es?", "list_categories", {}],
    [`Was wird bei ${A} kommentiert?`, "list_comments", { submission_id: A }],
    [
      "Leg eine Idee an mit dem Titel „Tastenkürzel“ und der Beschreibung „Ich möchte die ganze Anwendung mit Tastenkürzeln bedienen.“",
      "create_submission",
      {
        type: "idea",
        title: "Tastenkürzel",
        description: "Ich möchte die ganze Anwendung mit Tastenkürzeln bedienen.",
      },
    ],
    [
      `Schreib unter ${A} den Kommentar „Danke, wir sehen uns das an“`,
      "add_comment",
      { submission_id: A, body: "Danke, wir sehen uns das an" },
    ],
    [`Zieh meine Stimme für ${A} zurück`, "remove_vote", { submission_id: A }],
    [`Setz ${A} auf geplant`, "set_submission_status", { submission_id: A, status: "planned" }],
    ["Welche Umfragen laufen gerade?", "list_surveys", { status: "published" }],
    [`Wie sieht die Auswertung der Umfrage ${S} aus?`, "get_survey_analytics", { survey_id: S }],
    [`Veröffentliche die Umfrage ${S}`, "publish_survey", { survey_id: S }],
    [
      `Gib mir die Antworten auf Umfrage ${S} seit dem 5. November 2026`,
      "list_survey_responses",
      { survey_id: S, start_date: "2026-11-05" },
    ],
    [`Führe ${A} mit ${B} zusammen`, "merge_submissions", { source_ids: [A], target_id: B }],
  ],
  ru: [
    ["Покажи открытые проблемы", "list_submissions", { type: "problem", status: "open" }],
    [`Открой предложение ${A}`, "get_submission", { submission_id: A }],
    ["Найди «тёмная тема»", "search_submissions", { q: "тёмная тема" }],
    [
      "Есть ли уже что-то похожее на «Экспорт данных в CSV»?",
      "find_similar_submissions",
      { title: "Экспорт данных в CSV" },
    ],
    ["Какие у нас категории?", "list_categories", {}],
    [`Что пишут в комментариях к ${A}?`, "list_comments", { submission_id: A }],
    [
      "Создай идею с названием «Горячие клавиши» и описанием «Хочу управлять всем приложением с клавиатуры.»",
      "create_submission",
      {
        type: "idea",
        title: "Горячие клавиши",
        description: "Хочу управлять всем приложением с клавиатуры.",
      },
    ],
    [
      `Ответь на ${A}: «Спасибо, мы разбираемся»`,
      "add_comment",
      { submission_id: A, body: "Спасибо, мы разбираемся" },
    ],
    [`Проголосуй за ${A}`, "vote_submission", { submission_id: A }],
    [
      `Переведи ${A} в статус «выполнено»`,
      "set_submission_status",
      { submission_id: A, status: "completed" },
    ],
    ["Какие опросы сейчас опубликованы?", "list_surveys", { status: "published" }],
    [`Покажи опрос ${S}`, "get_survey", { survey_id: S }],
    [`Удали опрос ${S}`, "delete_survey", { survey_id: S }],
    [
      `Дай отрицательные ответы на опрос ${S}`,
      "list_survey_responses",
      { survey_id: S, sentiment: "negative" },
    ],
    [
      "Какая тональность у фразы «Обновление всё сломало»?",
      "analyze_sentiment",
      { texts: ["Обновление всё сломало"] },
    ],
  ],
  "pt-BR": [
    ["Quais ideias estão em análise?", "list_submissions", { type: "idea", status: "under_review" }],
    [`Me mostra a sugestão ${A}`, "get_submission", { submission_id: A }],
    ['Procura por "modo escuro"', "search_submissions", { q: "modo escuro" }],
    [
      'Já existe algo parecido com "Exportar meus dados em CSV"?',
      "find_similar_submissions",
      { title: "Exportar meus dados em CSV" },
    ],
    ["Que categorias a gente tem?", "list_categories", {}],
    [`Quero ler os comentários de ${A}`, "list_comments", { submission_id: A }],
    [
      'Registra um problema com o título "Tela branca" e a descrição "O aplicativo abre com a tela branca desde ontem."',
      "create_submission",
      {
        type: "problem",
        title: "Tela branca",
        description: "O aplicativo abre com a tela branca desde ontem.",
      },
    ],
    [
      `Comenta em ${A} "Obrigado, estamos vendo isso"`,
      "add_comment",
      { submission_id: A, body: "Obrigado, estamos vendo isso" },
    ],
    [`Tira o meu voto de ${A}`, "remove_vote", { submission_id: A }],
    [
      `Muda o status de ${A} para recusado`,
      "set_submission_status",
      { submission_id: A, status: "declined" },
    ],
    ["Lista as pesquisas pausadas", "list_surveys", { status: "paused" }],
    [`Como estão os números da pesquisa ${S}?`, "get_survey_analytics", { survey_id: S }],
    [`Coloca a pesquisa ${S} no ar`, "publish_survey", { survey_id: S }],
    [
      `Mostra as respostas positivas da pesquisa ${S} desde 10 de novembro de 2026`,
      "list_survey_responses",
      { survey_id: S, sentiment: "positive", start_date: "2026-11-10" },
    ],
    [
      `Muda o título de ${A} para "Tema escuro em todas as telas"`,
      "update_submission",
      { submission_id: A, title: "Tema escuro em todas as telas" },
    ],
  ],
  ja: [
    [
      "未対応のアイデアを投票の多い順に見せて",
      "list_submissions",
      { type: "idea", status: "open", sort: "votes" },
    ],
    [`投稿 ${A} を開いて`, "get_submission", { submission_id: A }],
    ["「ダークモード」を検索して", "search_submissions", { q: "ダークモード" }],
    [
      "「CSVでデータを書き出したい」と似た投稿はもうありますか",
      "find_similar_submissions",
      { title: "CSVでデータを書き出したい" },
    ],
    ["カテゴリーを教えてください", "list_categories", {}],
    [`${A} のコメントを読みたい`, "list_comments", { submission_id: A }],
    [
      "「ログインできない」というタイトルで不具合を登録して。説明は「昨日の更新からログイン画面が固まったままで先に進めません。」",
      "create_submission",
      {
        type: "problem",
        title: "ログインできない",
        description: "昨日の更新からログイン画面が固まったままで先に進めません。",
      },
    ],
    [
      `${A} に「ありがとうございます、確認します」とコメントして`,
      "add_comment",
      { submission_id: A, body: "ありがとうございます、確認します" },
    ],
    [`${A} に投票して`, "vote_submission", { submission_id: A }],
    [`${A} を対応予定にして`, "set_submission_status", { submission_id: A, status: "planned" }],
    ["公開中のアンケート一覧", "list_surveys", { status: "published" }],
    [`アンケート ${S} の集計結果は？`, "get_survey_analytics", { survey_id: S }],
    [`アンケート ${S} を公開して`, "publish_survey", { survey_id: S }],
    [
      `2026年11月1日以降のアンケート ${S} の否定的な回答を見せて`,
      "list_survey_responses",
      { survey_id: S, sentiment: "negative", start_date: "2026-11-01" },
    ],
    [
      "「新しいエディタは最高です」の感情を分析して",
      "analyze_sentiment",
      { texts: ["新しいエディタは最高です"] },
    ],
  ],
  it: [
    [
      "Fammi vedere i problemi aperti, i più votati prima",
      "list_submissions",
      { type: "problem", status: "open", sort: "votes" },
    ],
    [`Apri la segnalazione ${A}`, "get_submission", { submission_id: A }],
    ["Qualcuno ha chiesto «modalità scura»?", "search_submissions", { q: "modalità scura" }],
    [
      "C'è già qualcosa di simile a «Esportare i dati in CSV»?",
      "find_similar_submissions",
      { title: "Esportare i dati in CSV" },
    ],
    ["Quali categorie abbiamo?", "list_categories", {}],
    [`Leggimi i commenti su ${A}`, "list_comments", { submission_id: A }],
    [
      "Crea un'idea dal titolo «Scorciatoie da tastiera» con descrizione «Vorrei usare tutta l'applicazione con la tastiera.»",
      "create_submission",
      {
        type: "idea",
        title: "Scorciatoie da tastiera",
        description: "Vorrei usare tutta l'applicazione con la tastiera.",
      },
    ],
    [
      `Rispondi a ${A} con «Grazie, ci stiamo lavorando»`,
      "add_comment",
      { submission_id: A, body: "Grazie, ci stiamo lavorando" },
    ],
    [`Togli il mio voto da ${A}`, "remove_vote", { submission_id: A }],
    [`Segna ${A} come in corso`, "set_submission_status", { submission_id: A, status: "in_progress" }],
    ["Elenca i sondaggi in bozza", "list_surveys", { status: "draft" }],
    [`Dammi i risultati del sondaggio ${S}`, "get_survey_analytics", { survey_id: S }],
    [`Pubblica il sondaggio ${S}`, "publish_survey", { survey_id: S }],
    [
      `Quali risposte negative ha avuto il sondaggio ${S} dal 2 novembre 2026?`,
      "list_survey_responses",
      { survey_id: S, sentiment: "negative", start_date: "2026-11-02" },
    ],
    [
      "Questa frase è positiva o negativa: «Adoro il nuovo editor»",
      "analyze_sentiment",
      { texts: ["Adoro il nuovo editor"] },
    ],
  ],
};
