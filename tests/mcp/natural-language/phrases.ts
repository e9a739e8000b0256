import type { Locale } from "../../../shared/locales.ts";

export interface Phrase {
  say: string;
  tool: string;
  arguments: Record<string, unknown>;
}

const A = "3f2b8c1e-5d4a-4b6f-9c7d-1a2b3c4d5e6f";
const B = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
const S = "d94f3f01-6c1b-4d0a-8a52-2f3b9b1c7e10";

/**
 * What a person says and what is to be called: 15 phrases a locale, written before there was a parser and never tuned on.
 * Relative dates count from Saturday, 21 November 2026.
 */
export const phrases: Record<Locale, Phrase[]> = {
  en: [
    {
      say: "Which ideas are still open? Most voted first, please.",
      tool: "list_submissions",
      arguments: { type: "idea", status: "open", sort: "votes" },
    },
    { say: `Pull up submission ${A}`, tool: "get_submission", arguments: { submission_id: A } },
    { say: 'Has anybody asked for "dark mode"?', tool: "search_submissions", arguments: { q: "dark mode" } },
    {
      say: 'Is there anything like "Export my data as CSV" already?',
      tool: "find_similar_submissions",
      arguments: { title: "Export my data as CSV" },
    },
    { say: "What categories do we have?", tool: "list_categories", arguments: {} },
    { say: `Read me the discussion on ${A}`, tool: "list_comments", arguments: { submission_id: A } },
    {
      say: 'File a problem titled "Login page hangs": "After the last update the login page hangs for a minute."',
      tool: "create_submission",
      arguments: {
        type: "problem",
        title: "Login page hangs",
        description: "After the last update the login page hangs for a minute.",
      },
    },
    {
      say: `Reply on ${A} with "Thanks, we are looking into it"`,
      tool: "add_comment",
      arguments: { submission_id: A, body: "Thanks, we are looking into it" },
    },
    { say: `Put my vote on ${A}`, tool: "vote_submission", arguments: { submission_id: A } },
    {
      say: `Mark ${A} as in progress`,
      tool: "set_submission_status",
      arguments: { submission_id: A, status: "in_progress" },
    },
    { say: "Show me the surveys that are live", tool: "list_surveys", arguments: { status: "published" } },
    {
      say: `How is survey ${S} doing, what are the numbers?`,
      tool: "get_survey_analytics",
      arguments: { survey_id: S },
    },
    { say: `Take survey ${S} live`, tool: "publish_survey", arguments: { survey_id: S } },
    {
      say: `Which unhappy answers came in to survey ${S} since 1 November 2026?`,
      tool: "list_survey_responses",
      arguments: { survey_id: S, sentiment: "negative", start_date: "2026-11-01" },
    },
    {
      say: 'Is "I love the new editor but it crashes" positive or negative?',
      tool: "analyze_sentiment",
      arguments: { texts: ["I love the new editor but it crashes"] },
    },
  ],
  es: [
    {
      say: "Enséñame los problemas que están planificados",
      tool: "list_submissions",
      arguments: { type: "problem", status: "planned" },
    },
    { say: `Quiero ver la sugerencia ${A}`, tool: "get_submission", arguments: { submission_id: A } },
    { say: "Busca «modo oscuro»", tool: "search_submissions", arguments: { q: "modo oscuro" } },
    {
      say: "¿Ya hay alguna propuesta parecida a «Exportar mis datos a CSV»?",
      tool: "find_similar_submissions",
      arguments: { title: "Exportar mis datos a CSV" },
    },
    { say: "¿Qué categorías existen?", tool: "list_categories", arguments: {} },
    { say: `Dame los comentarios de ${A}`, tool: "list_comments", arguments: { submission_id: A } },
    {
      say: "Crea una idea con el título «Atajos de teclado» y la descripción «Me gustaría usar atajos de teclado en toda la aplicación.»",
      tool: "create_submission",
      arguments: {
        type: "idea",
        title: "Atajos de teclado",
        description: "Me gustaría usar atajos de teclado en toda la aplicación.",
      },
    },
    {
      say: `Comenta en ${A}: «Gracias, lo estamos mirando»`,
      tool: "add_comment",
      arguments: { submission_id: A, body: "Gracias, lo estamos mirando" },
    },
    { say: `Quita mi voto de ${A}`, tool: "remove_vote", arguments: { submission_id: A } },
    {
      say: `Cambia el estado de ${A} a completado`,
      tool: "set_submission_status",
      arguments: { submission_id: A, status: "completed" },
    },
    { say: "¿Qué encuestas tenemos en borrador?", tool: "list_surveys", arguments: { status: "draft" } },
    { say: `Muéstrame la encuesta ${S}`, tool: "get_survey", arguments: { survey_id: S } },
    { say: `Publica la encuesta ${S}`, tool: "publish_survey", arguments: { survey_id: S } },
    {
      say: `Lista las respuestas positivas de la encuesta ${S}`,
      tool: "list_survey_responses",
      arguments: { survey_id: S, sentiment: "positive" },
    },
    { say: `Une ${A} con ${B}`, tool: "merge_submissions", arguments: { source_ids: [A], target_id: B } },
  ],
  fr: [
    {
      say: "Quelles sont les idées terminées ?",
      tool: "list_submissions",
      arguments: { type: "idea", status: "completed" },
    },
    { say: `Affiche-moi la contribution ${A}`, tool: "get_submission", arguments: { submission_id: A } },
    {
      say: "Cherche « mode sombre » dans les contributions",
      tool: "search_submissions",
      arguments: { q: "mode sombre" },
    },
    {
      say: "Est-ce que quelque chose ressemble déjà à « Exporter mes données en CSV » ?",
      tool: "find_similar_submissions",
      arguments: { title: "Exporter mes données en CSV" },
    },
    { say: "Donne-moi la liste des catégories", tool: "list_categories", arguments: {} },
    { say: `Que disent les commentaires sur ${A} ?`, tool: "list_comments", arguments: { submission_id: A } },
    {
      say: "Signale un problème intitulé « Connexion impossible » : « Depuis hier je ne peux plus me connecter à mon compte. »",
      tool: "create_submission",
      arguments: {
        type: "problem",
        title: "Connexion impossible",
        description: "Depuis hier je ne peux plus me connecter à mon compte.",
      },
    },
    {
      say: `Réponds sur ${A} : « Merci, nous regardons »`,
      tool: "add_comment",
      arguments: { submission_id: A, body: "Merci, nous regardons" },
    },
    { say: `Vote pour ${A}`, tool: "vote_submission", arguments: { submission_id: A } },
    {
      say: `Passe ${A} en cours`,
      tool: "set_submission_status",
      arguments: { submission_id: A, status: "in_progress" },
    },
    { say: "Liste les enquêtes archivées", tool: "list_surveys", arguments: { status: "archived" } },
    {
      say: `Quels sont les résultats de l'enquête ${S} ?`,
      tool: "get_survey_analytics",
      arguments: { survey_id: S },
    },
    { say: `Supprime l'enquête ${S}`, tool: "delete_survey", arguments: { survey_id: S } },
    {
      say: `Montre les réponses négatives à l'enquête ${S} depuis le 3 novembre 2026`,
      tool: "list_survey_responses",
      arguments: { survey_id: S, sentiment: "negative", start_date: "2026-11-03" },
    },
    {
      say: "Quel est le ton de « Je suis très déçu par la mise à jour » ?",
      tool: "analyze_sentiment",
      arguments: { texts: ["Je suis très déçu par la mise à jour"] },
    },
  ],
  de: [
    {
      say: "Zeig mir alle abgelehnten Ideen",
      tool: "list_submissions",
      arguments: { type: "idea", status: "declined" },
    },
    { say: `Öffne die Einreichung ${A}`, tool: "get_submission", arguments: { submission_id: A } },
    {
      say: "Hat schon jemand nach „Dunkelmodus“ gefragt?",
      tool: "search_submissions",
      arguments: { q: "Dunkelmodus" },
    },
    {
      say: "Gibt es etwas Ähnliches wie „Daten als CSV exportieren“?",
      tool: "find_similar_submissions",
      arguments: { title: "Daten als CSV exportieren" },
    },
    { say: "Welche Kategorien gibt es?", tool: "list_categories", arguments: {} },
    { say: `Was wird bei ${A} kommentiert?`, tool: "list_comments", arguments: { submission_id: A } },
    {
      say: "Leg eine Idee an mit dem Titel „Tastenkürzel“ und der Beschreibung „Ich möchte die ganze Anwendung mit Tastenkürzeln bedienen.“",
      tool: "create_submission",
      arguments: {
        type: "idea",
        title: "Tastenkürzel",
        description: "Ich möchte die ganze Anwendung mit Tastenkürzeln bedienen.",
      },
    },
    {
      say: `Schreib unter ${A} den Kommentar „Danke, wir sehen uns das an“`,
      tool: "add_comment",
      arguments: { submission_id: A, body: "Danke, wir sehen uns das an" },
    },
    { say: `Zieh meine Stimme für ${A} zurück`, tool: "remove_vote", arguments: { submission_id: A } },
    {
      say: `Setz ${A} auf geplant`,
      tool: "set_submission_status",
      arguments: { submission_id: A, status: "planned" },
    },
    { say: "Welche Umfragen laufen gerade?", tool: "list_surveys", arguments: { status: "published" } },
    {
      say: `Wie sieht die Auswertung der Umfrage ${S} aus?`,
      tool: "get_survey_analytics",
      arguments: { survey_id: S },
    },
    { say: `Veröffentliche die Umfrage ${S}`, tool: "publish_survey", arguments: { survey_id: S } },
    {
      say: `Gib mir die Antworten auf Umfrage ${S} seit dem 5. November 2026`,
      tool: "list_survey_responses",
      arguments: { survey_id: S, start_date: "2026-11-05" },
    },
    {
      say: `Führe ${A} mit ${B} zusammen`,
      tool: "merge_submissions",
      arguments: { source_ids: [A], target_id: B },
    },
  ],
  ru: [
    {
      say: "Покажи открытые проблемы",
      tool: "list_submissions",
      arguments: { type: "problem", status: "open" },
    },
    { say: `Открой предложение ${A}`, tool: "get_submission", arguments: { submission_id: A } },
    { say: "Найди «тёмная тема»", tool: "search_submissions", arguments: { q: "тёмная тема" } },
    {
      say: "Есть ли уже что-то похожее на «Экспорт данных в CSV»?",
      tool: "find_similar_submissions",
      arguments: { title: "Экспорт данных в CSV" },
    },
    { say: "Какие у нас категории?", tool: "list_categories", arguments: {} },
    { say: `Что пишут в комментариях к ${A}?`, tool: "list_comments", arguments: { submission_id: A } },
    {
      say: "Создай идею с названием «Горячие клавиши» и описанием «Хочу управлять всем приложением с клавиатуры.»",
      tool: "create_submission",
      arguments: {
        type: "idea",
        title: "Горячие клавиши",
        description: "Хочу управлять всем приложением с клавиатуры.",
      },
    },
    {
      say: `Ответь на ${A}: «Спасибо, мы разбираемся»`,
      tool: "add_comment",
      arguments: { submission_id: A, body: "Спасибо, мы разбираемся" },
    },
    { say: `Проголосуй за ${A}`, tool: "vote_submission", arguments: { submission_id: A } },
    {
      say: `Переведи ${A} в статус «выполнено»`,
      tool: "set_submission_status",
      arguments: { submission_id: A, status: "completed" },
    },
    { say: "Какие опросы сейчас опубликованы?", tool: "list_surveys", arguments: { status: "published" } },
    { say: `Покажи опрос ${S}`, tool: "get_survey", arguments: { survey_id: S } },
    { say: `Удали опрос ${S}`, tool: "delete_survey", arguments: { survey_id: S } },
    {
      say: `Дай отрицательные ответы на опрос ${S}`,
      tool: "list_survey_responses",
      arguments: { survey_id: S, sentiment: "negative" },
    },
    {
      say: "Какая тональность у фразы «Обновление всё сломало»?",
      tool: "analyze_sentiment",
      arguments: { texts: ["Обновление всё сломало"] },
    },
  ],
  "pt-BR": [
    {
      say: "Quais ideias estão em análise?",
      tool: "list_submissions",
      arguments: { type: "idea", status: "under_review" },
    },
    { say: `Me mostra a sugestão ${A}`, tool: "get_submission", arguments: { submission_id: A } },
    { say: 'Procura por "modo escuro"', tool: "search_submissions", arguments: { q: "modo escuro" } },
    {
      say: 'Já existe algo parecido com "Exportar meus dados em CSV"?',
      tool: "find_similar_submissions",
      arguments: { title: "Exportar meus dados em CSV" },
    },
    { say: "Que categorias a gente tem?", tool: "list_categories", arguments: {} },
    { say: `Quero ler os comentários de ${A}`, tool: "list_comments", arguments: { submission_id: A } },
    {
      say: 'Registra um problema com o título "Tela branca" e a descrição "O aplicativo abre com a tela branca desde ontem."',
      tool: "create_submission",
      arguments: {
        type: "problem",
        title: "Tela branca",
        description: "O aplicativo abre com a tela branca desde ontem.",
      },
    },
    {
      say: `Comenta em ${A} "Obrigado, estamos vendo isso"`,
      tool: "add_comment",
      arguments: { submission_id: A, body: "Obrigado, estamos vendo isso" },
    },
    { say: `Tira o meu voto de ${A}`, tool: "remove_vote", arguments: { submission_id: A } },
    {
      say: `Muda o status de ${A} para recusado`,
      tool: "set_submission_status",
      arguments: { submission_id: A, status: "declined" },
    },
    { say: "Lista as pesquisas pausadas", tool: "list_surveys", arguments: { status: "paused" } },
    {
      say: `Como estão os números da pesquisa ${S}?`,
      tool: "get_survey_analytics",
      arguments: { survey_id: S },
    },
    { say: `Coloca a pesquisa ${S} no ar`, tool: "publish_survey", arguments: { survey_id: S } },
    {
      say: `Mostra as respostas positivas da pesquisa ${S} desde 10 de novembro de 2026`,
      tool: "list_survey_responses",
      arguments: { survey_id: S, sentiment: "positive", start_date: "2026-11-10" },
    },
    {
      say: `Muda o título de ${A} para "Tema escuro em todas as telas"`,
      tool: "update_submission",
      arguments: { submission_id: A, title: "Tema escuro em todas as telas" },
    },
  ],
  ja: [
    {
      say: "未対応のアイデアを投票の多い順に見せて",
      tool: "list_submissions",
      arguments: { type: "idea", status: "open", sort: "votes" },
    },
    { say: `投稿 ${A} を開いて`, tool: "get_submission", arguments: { submission_id: A } },
    { say: "「ダークモード」を検索して", tool: "search_submissions", arguments: { q: "ダークモード" } },
    {
      say: "「CSVでデータを書き出したい」と似た投稿はもうありますか",
      tool: "find_similar_submissions",
      arguments: { title: "CSVでデータを書き出したい" },
    },
    { say: "カテゴリーを教えてください", tool: "list_categories", arguments: {} },
    { say: `${A} のコメントを読みたい`, tool: "list_comments", arguments: { submission_id: A } },
    {
      say: "「ログインできない」というタイトルで不具合を登録して。説明は「昨日の更新からログイン画面が固まったままで先に進めません。」",
      tool: "create_submission",
      arguments: {
        type: "problem",
        title: "ログインできない",
        description: "昨日の更新からログイン画面が固まったままで先に進めません。",
      },
    },
    {
      say: `${A} に「ありがとうございます、確認します」とコメントして`,
      tool: "add_comment",
      arguments: { submission_id: A, body: "ありがとうございます、確認します" },
    },
    { say: `${A} に投票して`, tool: "vote_submission", arguments: { submission_id: A } },
    {
      say: `${A} を対応予定にして`,
      tool: "set_submission_status",
      arguments: { submission_id: A, status: "planned" },
    },
    { say: "公開中のアンケート一覧", tool: "list_surveys", arguments: { status: "published" } },
    { say: `アンケート ${S} の集計結果は？`, tool: "get_survey_analytics", arguments: { survey_id: S } },
    { say: `アンケート ${S} を公開して`, tool: "publish_survey", arguments: { survey_id: S } },
    {
      say: `2026年11月1日以降のアンケート ${S} の否定的な回答を見せて`,
      tool: "list_survey_responses",
      arguments: { survey_id: S, sentiment: "negative", start_date: "2026-11-01" },
    },
    {
      say: "「新しいエディタは最高です」の感情を分析して",
      tool: "analyze_sentiment",
      arguments: { texts: ["新しいエディタは最高です"] },
    },
  ],
  it: [
    {
      say: "Fammi vedere i problemi aperti, i più votati prima",
      tool: "list_submissions",
      arguments: { type: "problem", status: "open", sort: "votes" },
    },
    { say: `Apri la segnalazione ${A}`, tool: "get_submission", arguments: { submission_id: A } },
    {
      say: "Qualcuno ha chiesto «modalità scura»?",
      tool: "search_submissions",
      arguments: { q: "modalità scura" },
    },
    {
      say: "C'è già qualcosa di simile a «Esportare i dati in CSV»?",
      tool: "find_similar_submissions",
      arguments: { title: "Esportare i dati in CSV" },
    },
    { say: "Quali categorie abbiamo?", tool: "list_categories", arguments: {} },
    { say: `Leggimi i commenti su ${A}`, tool: "list_comments", arguments: { submission_id: A } },
    {
      say: "Crea un'idea dal titolo «Scorciatoie da tastiera» con descrizione «Vorrei usare tutta l'applicazione con la tastiera.»",
      tool: "create_submission",
      arguments: {
        type: "idea",
        title: "Scorciatoie da tastiera",
        description: "Vorrei usare tutta l'applicazione con la tastiera.",
      },
    },
    {
      say: `Rispondi a ${A} con «Grazie, ci stiamo lavorando»`,
      tool: "add_comment",
      arguments: { submission_id: A, body: "Grazie, ci stiamo lavorando" },
    },
    { say: `Togli il mio voto da ${A}`, tool: "remove_vote", arguments: { submission_id: A } },
    {
      say: `Segna ${A} come in corso`,
      tool: "set_submission_status",
      arguments: { submission_id: A, status: "in_progress" },
    },
    { say: "Elenca i sondaggi in bozza", tool: "list_surveys", arguments: { status: "draft" } },
    {
      say: `Dammi i risultati del sondaggio ${S}`,
      tool: "get_survey_analytics",
      arguments: { survey_id: S },
    },
    { say: `Pubblica il sondaggio ${S}`, tool: "publish_survey", arguments: { survey_id: S } },
    {
      say: `Quali risposte negative ha avuto il sondaggio ${S} dal 2 novembre 2026?`,
      tool: "list_survey_responses",
      arguments: { survey_id: S, sentiment: "negative", start_date: "2026-11-02" },
    },
    {
      say: "Questa frase è positiva o negativa: «Adoro il nuovo editor»",
      tool: "analyze_sentiment",
      arguments: { texts: ["Adoro il nuovo editor"] },
    },
  ],
};
