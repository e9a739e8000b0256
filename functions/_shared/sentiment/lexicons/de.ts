import type { Source } from "../entries.ts";

export const de: Source = {
  values: [
    [
      3,
      `lieb* liebe hervorragend* ausgezeichnet* exzellent* perfekt* fantastisch* großartig* grossartig* genial* wunderbar* traumhaft* spitze* spitzen* klasse top sensationell* begeister* hammer mega_geil geil geile geiles
      beste bester bestes am_besten überragend* unschlagbar* kinderleicht* einwandfrei* tadellos* nicht_mehr_missen nicht_mehr_wegzudenken möchte_sie_nicht_missen ein_traum rundum_zufrieden rundum_glücklich
      übertr*_meine_erwartungen übertrifft absolut_empfehlenswert eine_freude unverzichtbar*`,
    ],
    [
      2,
      `gut gute guter gutes guten gutem super toll tolle tolles toller tollen prima schön schöne schönes schöner freu* gefällt gefallen mag mögen zufrieden* empfehl* weiterempfehl* empfehlenswert* einfach_zu leicht_zu einfache_bedienung leicht_verständlich
      intuitiv* übersichtlich* schnell schnelle schneller schnelles schnellen flott* flüssig* zuverlässig* stabil* nützlich* hilfreich* geholfen hilft praktisch* bequem* angenehm* freundlich* kompetent* elegant* sauber* durchdacht* gelungen*
      verbesser* besser bessere besseres danke dankeschön vielen_dank dank_euch glücklich* beeindruck* lohnt_sich lohnenswert preiswert* spart sparen gespart zeitersparnis erleichter* funktioniert_gut funktioniert_einwandfrei funktioniert_super funktioniert_prima
      läuft_gut läuft_super läuft_rund läuft_stabil läuft_einwandfrei läuft_problemlos problemlos* reibungslos* auf_anhieb endlich_mal endlich_ein endlich_eine nicht_schlecht gar_nicht_schlecht nicht_übel keine_probleme kein_problem keinerlei_probleme keine_beschwerden nichts_auszusetzen
      nichts_zu_meckern kann_nicht_klagen ohne_probleme bin_froh froh cool coole cooles klappt_gut klappt_super klappt_prima klappt_wunderbar respekt weiter_so lob loben hut_ab vertrau* sofort_geholfen sofort_gelöst gelöst hält_was passt_perfekt passt_alles macht_spaß macht_was macht_genau spaß`,
    ],
    [
      1,
      `modern* ansprechend* hübsch* schick* günstig* fair faire ordentlich* interessant* vielversprechend* flexibel* schlank* sicher solide* leistungsstark* umfangreich*`,
    ],
    [
      0,
      `ganz_okay ganz_ok okay ok geht_so so_lala nichts_besonderes mittelmäßig durchschnittlich* weder_gut_noch_schlecht mal_so_mal_so mal_klappt guten_tag guten_morgen gutes_neues liebe_grüße lieber_wäre liebes_team liebes liebe_leute am_liebsten lieber
      gute_frage so_gut_wie so_schnell_wie so_schnell_wie_möglich wie_schnell wie_gut freundliche_grüße freundlichen_grüßen vielen_dank_im_voraus danke_im_voraus beste_grüße fehlermeldung fehlerbericht erfüllt_seinen_zweck tut_was_es_soll keine_meinung egal neutral
      besser_gesagt würde_mich_freuen fehlercode je_nachdem problemlos_kündbar`,
    ],
    [
      -1,
      `teuer* kostspielig* kompliziert* komplex* umständlich* veraltet* altbacken* begrenzt* eingeschränkt* fehlt fehlen fehlte fehlend* mangel* schade leider schwierig* schwer warte warten gewartet dauert ewig zu_viel zu_viele zu_lang zu_klein zu_groß zu_wenig versteckt* verstreut*
      überladen* ausbaufähig* gewöhnungsbedürftig* mehr_erwartet hätte_mehr lässt_zu_wünschen`,
    ],
    [
      -2,
      `schlecht* langsam* lahm* träge* fehler* fehlerhaft* bug bugs verbuggt* absturz* abstürz* stürzt abgestürzt hängt hängen_bleib* hängt_sich einfrier* friert eingefroren kaputt* defekt* problem* störung* störend* stör* nerv* nervig* ärger* verärgert* frust* enttäusch* entäusch* unzufrieden*
      unbrauchbar* nutzlos* sinnlos* unübersichtlich* verwirr* unverständlich* unzuverlässig* instabil* umsonst_gewartet geht_nicht geht_nicht_mehr funktioniert_nicht funktioniert_nicht_mehr funktioniert_nie klappt_nicht klappt_nie läuft_nicht lädt_nicht öffnet_nicht keine_antwort keine_rückmeldung keine_reaktion niemand_antwortet
      meldet_sich_niemand niemand_meldet ruckel* ruckelt hakt hakelig* verloren verlor verschwind* verschwunden gelöscht daten_weg alles_weg daten_verloren doppelt_abgebucht doppelt_berechnet abgezockt überteuert* zu_teuer zu_langsam zu_kompliziert zu_umständlich kündig* gekündigt geld_zurück erstattung
      zeitverschwendung verschwend* finde_nichts findet_nichts nichts_mehr_wieder unfreundlich* schlimm* schlimmer hässlich* langweil* mühsam* qual quälerei katastroph* chaos chaotisch* bereu* ständig_abmelden unmöglich* beschwer* ungenügend* lästig* unausgereift* verschlimmbesser* verschlechter* genervt satt_habe spinnt lässt_sich_nicht`,
    ],
    [
      -3,
      `hass* furchtbar* schrecklich* grauenhaft* grauenvoll* grottig* grottenschlecht* miserabel* mist scheiß* scheiss* scheisse müll schrott abzocke betrug frechheit unverschämt* entsetz* unterirdisch* zum_kotzen kotz* nie_wieder finger_weg schlechteste* unerträglich* albtraum* alptraum* saftladen peinlich* lächerlich* zumutung`,
    ],
  ],
  negations:
    "nicht kein keine keinen keiner keinem keinerlei nie niemals nirgends ohne nichts niemand kaum weder wenig weniger nich ned",
  stronger:
    "sehr echt wirklich super total absolut extrem mega so viel_zu viel zu richtig besonders überaus völlig komplett ständig immer dauernd unglaublich wahnsinnig deutlich überhaupt",
  weaker: "etwas bisschen ein_bisschen ziemlich eher relativ leicht manchmal teilweise einigermaßen halbwegs recht",
  contrasts: "aber jedoch allerdings doch dennoch trotzdem obwohl leider nur außer sondern",
  wishes: `bitte wäre wäre_es könnt* könnte könntet könnten kann_man würde würden wünsch* hätte_gern hätte_gerne hätten_gern vorschlag schlage gibt_es wie_kann sollte solltet einbauen ergänz* hinzufüg* wünschenswert möchte_gern möchten_gern brauche brauchen`,
  reach: { before: 3, behind: 4 },
};
